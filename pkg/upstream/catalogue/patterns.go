package catalogue

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// folded is a text in the one form in which patterns look at it: compatibility forms of characters made plain, lower case, without
// what is not seen and without apostrophes, everything but letters, digits and some punctuation a single blank. Names become words.
func folded(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	blank, lower := true, false
	text = norm.NFKC.String(text)
	for at, r := range text {
		switch {
		case r == '.' && at+1 < len(text) && !strings.ContainsRune(" \t\r\n)", rune(text[at+1])): // in a name, and not at the end of a sentence
			if !blank {
				out.WriteByte(' ')
			}
			blank = true
		case r == '\'' || r == '’' || hides(r, 0):
			continue
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if unicode.IsUpper(r) && lower { // camelCase
				out.WriteByte(' ')
			}
			out.WriteRune(unicode.ToLower(r))
			blank, lower = false, unicode.IsLower(r)
			continue
		case strings.ContainsRune("<>/.!?:;,@+|", r):
			out.WriteRune(r)
			blank = false
		case !blank:
			out.WriteByte(' ')
			blank = true
		}
		lower = false
	}
	return out.String()
}

// pattern is one, on folded text, and words of which the text has one if it matches: most texts have none, and cost no match.
type pattern struct {
	words []string
	match func() *regexp.Regexp
}

// The user, of whom a server has nothing to hide.
const person = `(?:(?:the|your|this) )?(?:user|human|operator)\b`

// patterns find what speaks to the model and not of the tool. They are narrow: the server of a thousand ordinary descriptions has none.
var patterns = []pattern{
	{[]string{"<"}, lazy.Regexp(`< ?/? ?(?:important|hidden|critical|urgent|assistant|sys|system prompt|system instructions?|system note)(?: [^<>]{0,40})?>|< ?system ?>.*?< ?/ ?system ?>`)},
	{[]string{"ignor", "disregard", "forget", "overrid", "bypass", "overrul", "supersede"}, lazy.Regexp(`\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override|overrule|bypass|supersedes?)\b(?: (?:all|any|the|your|every|each|these|those|of|my|and|other)){0,4} (?:previous|prior|above|earlier|preceding|your|system|safety|security|original|initial|user)(?: \w+){0,2} (?:instructions?|prompts?|guidelines?|directives?|guardrails?|rules|policies|restrictions|commands)\b`)},
	{[]string{"ignor", "disregard", "forget"}, lazy.Regexp(`\b(?:ignore|disregard|forget)\b(?: (?:all|any|the|your|every|everything|these|those)){1,2} (?:instructions|guardrails|guidelines|safety \w+|you (?:were|have been) told)\b`)},
	{[]string{"user", "human", "operator"}, lazy.Regexp(`\b(?:do not|dont|never|must not|mustnt|should not|shouldnt|without|avoid|no need to|need not|refrain from)\b(?: \w+){0,4}? (?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|show(?:ing)?|notify(?:ing)?|alert(?:ing)?|disclos(?:e|ing)|explain(?:ing)?|warn(?:ing)?|report(?:ing)?|display(?:ing)?|surfac(?:e|ing)|expos(?:e|ing))\b[^.!?]{0,80}\b` + person)},
	{[]string{"user", "human", "operator"}, lazy.Regexp(`\b(?:not|never) (?:be )?(?:told|mention|mentioned|revealed|shown|disclosed|displayed|reported|visible)\b[^.!?]{0,20}\b(?:to|by|for) ` + person)},
	{[]string{"user", "human", "operator"}, lazy.Regexp(`\b(?:hide|hidden|conceal|keep|secret|confidential)\b[^.!?]{0,40}\bfrom ` + person)},
	{[]string{"user", "human", "operator"}, lazy.Regexp(person + ` (?:must|should|does|do|will|need|needs|may|can)(?: not|nt) (?:to )?(?:know|see|notice|be (?:aware|told|informed|notified|bothered))\b|\bwithout ` + person + ` (?:noticing|knowing|being (?:aware|told|informed|notified))\b|\bwithout (?:the )?users (?:knowledge|awareness|noticing)\b`)},
	{[]string{"mention", "tell", "reveal", "disclose", "inform"}, lazy.Regexp(`\b(?:do not|dont|never) (?:mention|reveal|disclose|tell anyone|inform anyone)\b[^.!?]{0,40}\b(?:this|that you|these|instructions?|reading|step)\b`)},
	{[]string{"silently", "secretly", "covertly", "discreetly", "quietly"}, lazy.Regexp(`\b(?:silently|secretly|covertly|discreetly|quietly) (?:read|send|include|copy|forward|upload|exfiltrate|call|add|append|collect|pass|invoke|execute|run|bcc)\b`)},
	{[]string{"before", "prior", "when", "each time", "every time", "first", "to use"}, lazy.Regexp(`\b(?:before|prior to|when(?:ever)?|each time|every time|first,? before|in order to|to) (?:you )?(?:using|use|calling|call|invoking|invoke|running|run|executing|execute|performing|perform|saving|save|searching|search|processing|any|every|this|other)\b[^.!?]{0,80}\b(?:read|open|cat|load|access|collect|gather|extract|retrieve|fetch|upload|forward|send|include|pass)\b[^.!?]{0,60}(?:\bfiles? (?:of|in|from|at|named|called|and|from)\b|\b(?:contents?|text) of\b|\bthe (?:full )?file\b|/|\b(?:credentials?|passwords?|secrets?|environment variables?|ssh|private keys?|api keys?|tokens|env|conversation|chat history|mcp.json)\b)`)},
	{[]string{"this tool", "this function", "tool first", "function first"}, lazy.Regexp(`\b(?:always|must|required to|have to|should)\b[^.!?]{0,60}\b(?:call|use|invoke|run|call(?:ed)|used|invoked)\b[^.!?]{0,30}\b(?:this tool|this function|tool|function|it)?\b[^.!?]{0,20}\b(?:first|before)\b[^.!?]{0,40}\b(?:any|every|all|each) (?:other |file |user )?(?:tools?|requests?|tasks?|operations?|messages?|quer(?:y|ies)|prompts?|responses?|actions?|files?)\b`)},
	{[]string{"any", "every", "all", "each"}, lazy.Regexp(`\b(?:for|on|to|in|before) (?:any|every|all|each)(?: \w+)? (?:requests?|quer(?:y|ies)|messages?|prompts?|conversations?|responses?|interactions?)\b[^.!?]{0,60}\b(?:always|must|first)\b[^.!?]{0,30}\b(?:call|use|invoke|run)\b|\bbefore performing any (?:\w+ )?(?:operation|task|action|request)\b`)},
	{[]string{"tool", "function"}, lazy.Regexp(`\b(?:always|must|should) (?:also )?(?:first )?(?:call|use|invoke|run|prefer)\b[^.!?]{0,50}\b(?:tool|function)?\b[^.!?]{0,20}\b(?:instead of|rather than) (?:any|all|every|the)? ?(?:other|original|standard|built in|official)\b`)},
	{[]string{"conversation", "chat", "system prompt", "messages"}, lazy.Regexp(`\b(?:include|send|pass|provide|copy|append|forward|attach|put|insert|submit|upload|summari[sz]e|leak|reveal|repeat|output|print)\b[^.!?]{0,60}\b(?:(?:entire|full|complete|whole|current|all|previous|raw)(?: \w+){0,2} (?:conversation|chat|messages|message history|context window)|(?:conversation|chat) (?:history|log|context|transcript)|system prompt)\b`)},
	{[]string{"recipient", "phone", "address", "email", "destination", "account", "number"}, lazy.Regexp(`\b(?:change|replace|set|modify|swap|substitute|switch|alter)\b[^.!?]{0,60}\b(?:recipients?|phone number|address|email|destination|account|number|to field)\b[^.!?]{0,40}\b(?:to|with|by)\b[^.!?]{0,12}(?:\+? ?\d[\d ]{5,}|[\w+.]+@[\w.]+|0x[0-9a-f]{8,})`)},
	{[]string{"@", "bcc"}, lazy.Regexp(`\b(?:send|sent|forward(?:ed)?|redirect(?:ed)?|bcc|cc|cop(?:y|ied)|deliver(?:ed)?|rout(?:e|ed)|mail|email)\b[^!?@]{0,100}[\w+]@[\w]+[^!?]{0,200}\b(?:all|every|any|always|instead|regardless|even if|must|do not|dont|hidden|requirement|required)\b|\b(?:all|every|any|always|must)\b[^!?]{0,100}\b(?:send|sent|forward(?:ed)?|bcc|cc|cop(?:y|ied)|rout(?:e|ed)|emails?|messages?)\b[^!?@]{0,60}[\w+]@[\w]+`)},
	{[]string{"instruction", "override", "system", "mode", "you are now", "jailbreak"}, lazy.Regexp(`\b(?:system|hidden|secret|real|override|confidential|internal) instructions?\b|\bsystem (?:override|note|message) ?:|\b(?:important|critical|mandatory)(?: system)? (?:instructions?|note|message|requirement)s? (?:for|to) (?:the )?(?:ai|llm|model|assistant|agent)|\byou are now (?:a|an|in|the|no longer|free)\b|\bjailbr(?:eak|oken)\b|\bdeveloper mode (?:is )?(?:on|enabled|activated)\b`)},
	{[]string{"attention", "note to", "message to", "message for", "note for", "dear"}, lazy.Regexp(`\b(?:attention|dear|note to|note for|message to|message for)(?: (?:the|all|any|every|this))? (?:ai|llms?|models?|assistants?|agents?|language models?|ai \w+|claude|gpt|chatgpt|copilot|cursor|gemini)\b`)},
	{[]string{"curl", "wget", "base64", "powershell"}, lazy.Regexp(`\b(?:curl|wget)\b[^\n]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b|\bbase64 (?:d|decode)\b[^\n]{0,80}\| ?(?:ba|z|da)?sh\b`)},
	{[]string{"exfiltrat", "side channel"}, lazy.Regexp(`\bexfiltrat(?:e|ing)\b`)},
	{[]string{"file", "content", "ssh", "key", "env"}, lazy.Regexp(`\b(?:read|cat|open|load|get|fetch|access)\b[^.!?]{0,60}\b(?:contents?|files?|keys?|env|variables)\b[^!?]{0,120}\b(?:pass|include|put|send|provide|attach|place|insert|return|copy|append)\b[^.!?]{0,40}\b(?:it|its|them|their|contents?|the result|the output)\b[^.!?]{0,40}\b(?:as|in|into|via|to) (?:the |a |an )?(?:\w+ )?(?:sidenote|notes?|context|feedback|metadata|debug|parameter|argument|field|response|header|comment|this tool)\b`)},
	{[]string{"contents of", "content of", "content from", "contents from"}, lazy.Regexp(`\bcontents? (?:of|from)(?: \w+)? (?:reading )?(?:the )?(?:file )?(?:/|~|\.|ssh|id rsa|etc|home|root|env)\b`)},
}

// comment finds what is not shown where a description is rendered, and the markup of chats.
var comment = lazy.Regexp(`(?is)<!--.{3,}?(?:-->|\z)|\[//\]: ?#|display: ?none|font-size: ?0|\[/?inst\]|<</?sys>>|<\|im_(?:start|end)\|>`)

// instruction is what in a text speaks to the model.
func instruction(text, plain string) string {
	if strings.ContainsAny(text, "<[:") {
		if at := comment().FindStringIndex(text); at != nil {
			return text[at[0]:at[1]]
		}
		if at := section(text); at != "" {
			return at
		}
	}
	for _, p := range patterns {
		if !containsAny(plain, p.words) {
			continue
		}
		if at := p.match().FindStringIndex(plain); at != nil {
			return plain[at[0]:at[1]]
		}
	}
	return ""
}

// capitals opens a section in the way of prompts.
var capitals = lazy.Regexp(`<([A-Z][A-Z_-]{3,40})(?: [^<>]{0,80})?>`)

// section finds text between tags in capitals, as prompts have them.
func section(text string) string {
	for _, at := range capitals().FindAllStringSubmatchIndex(text, 16) {
		if closing := "</" + text[at[2]:at[3]] + ">"; strings.Contains(text[at[1]:], closing) {
			return text[at[0]:]
		}
	}
	return ""
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// secretHints are parts of all of secretPlaces.
var secretHints = []string{".ssh", "id_", "authorized_keys", ".aws", ".netrc", ".git-cred", "rc", ".kube/", ".docker/", ".gnupg", "mcp", "claude", ".cursor/", "_history", "/etc/", "/environ", "wallet.dat", "application_default", ".config/", ".env", "keychain", "service"}

// secretPlaces are where credentials lie. They are looked for in lower case.
var secretPlaces = lazy.Regexp(`\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|\bauthorized_keys\b|\.aws\b|\.netrc\b|\.git-credentials\b|\.npmrc\b|\.pypirc\b|\.kube/config\b|\.docker/config|\.gnupg\b|\bmcp\.json\b|\bmcp_config\b|claude_desktop_config|\.claude\.json\b|\.cursor/|(?:bash|zsh)_history\b|/etc/(?:shadow|passwd|sudoers)\b|/proc/(?:self|\d+)/environ|\bwallet\.dat\b|application_default_credentials|\.config/(?:gcloud|gh)\b|(?:^|[\s"'` + "`" + `(/~])\.env\b|\blogin\.keychain|\bservice[-_]account[-_]?(?:key)?\.json\b`)

func credentials(text, _ string) string {
	lower := strings.ToLower(norm.NFKC.String(text))
	if !containsAny(lower, secretHints) {
		return ""
	}
	if at := secretPlaces().FindStringIndex(lower); at != nil {
		return excerpt(lower, at[0])
	}
	return ""
}

// coded are long runs without a blank.
var coded = lazy.Regexp(`[A-Za-z0-9+/_-]{32,}={0,2}`)

// maxCoded is the longest run that is no finding whatever is in it.
const maxCoded = 512

// encoded is base64 that reads as text, or is long. Pictures may be as long as they are.
func encoded(text, _ string) string {
	if len(text) < 32 || strings.HasPrefix(text, "data:image/") {
		return ""
	}
	for _, run := range coded().FindAllString(text, 64) {
		if len(run) > maxCoded {
			return run[:64]
		}
		bare := strings.TrimRight(run, "=")
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if decoded, err := encoding.DecodeString(bare[:len(bare)/4*4]); err == nil && isProse(decoded) {
				return "it reads: " + string(decoded)
			}
		}
	}
	return ""
}

// isProse: words with blanks between them.
func isProse(text []byte) bool {
	if !utf8.Valid(text) || strings.Count(string(text), " ") < 2 {
		return false
	}
	odd := 0
	for _, r := range string(text) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			odd++
		}
	}
	return odd == 0
}
