package refusal

// Code is the machine-readable name of a kind of refusal: the error_type of the JSON that an agent receives. The constants
// below are all there are; New turns any other value into InternalError, so a refusal always has an entry.
type Code string

// The codes, in the order of the gate, then what tools and the server add. Catalogue says when each occurs.
const (
	RoleForbidden Code = "ROLE_FORBIDDEN"

	MissingOrInvalidIntent Code = "MISSING_OR_INVALID_INTENT"
	IntentNotActive        Code = "INTENT_NOT_ACTIVE"
	IntentIgnored          Code = "INTENT_IGNORED"
	IntentMismatch         Code = "INTENT_MISMATCH"
	SessionExpired         Code = "SESSION_EXPIRED"

	ScopeViolation    Code = "SCOPE_VIOLATION"
	CommandOutOfScope Code = "COMMAND_OUT_OF_SCOPE"

	IntentignorePathBlocked Code = "INTENTIGNORE_PATH_BLOCKED"
	ProtectedPath           Code = "PROTECTED_PATH"
	PathOutsideWorkspace    Code = "PATH_OUTSIDE_WORKSPACE"
	NotARegularFile         Code = "NOT_A_REGULAR_FILE"

	StaleFile    Code = "STALE_FILE"
	ReadRequired Code = "READ_REQUIRED"

	CommandBlocked Code = "COMMAND_BLOCKED"
	RuleViolation  Code = "RULE_VIOLATION"
	VerifyFailed   Code = "VERIFY_FAILED"

	MutationClassMismatch Code = "MUTATION_CLASS_MISMATCH"

	ApprovalRequired Code = "APPROVAL_REQUIRED"
	ApprovalRejected Code = "APPROVAL_REJECTED"

	IntentsUnreadable       Code = "INTENTS_UNREADABLE"
	WorkspaceNotInitialized Code = "WORKSPACE_NOT_INITIALIZED"
	LedgerUnavailable       Code = "LEDGER_UNAVAILABLE"
	SandboxUnavailable      Code = "SANDBOX_UNAVAILABLE"
	HookBlocked             Code = "HOOK_BLOCKED"
	UpstreamUnavailable     Code = "UPSTREAM_UNAVAILABLE" // it was not asked
	InternalError           Code = "INTERNAL_ERROR"       // nothing is known to have changed unless the details say so

	Busy      Code = "BUSY"
	Cancelled Code = "CANCELLED"

	InvalidArguments Code = "INVALID_ARGUMENTS"
	FileNotFound     Code = "FILE_NOT_FOUND"
	DiffNotApplied   Code = "DIFF_NOT_APPLIED"
	AmbiguousMatch   Code = "AMBIGUOUS_MATCH"
	TooLarge         Code = "TOO_LARGE"
)

// Action hints. Those that name a tool name one that the server offers; a test holds them against the tool list.
const (
	HintSelectIntent      = "select_active_intent"
	HintExpandScope       = "request_scope_expansion"
	HintChooseFile        = "choose_different_file"
	HintReadFile          = "read_file"
	HintFollowConstraints = "follow_constraints"
	HintCorrectClass      = "correct_mutation_class"
	HintResumeApproval    = "resume_approval"
	HintAskUser           = "ask_user"
	HintRetry             = "retry"
	HintFixArguments      = "fix_arguments"
	HintListFiles         = "list_files"
)

// Entry is one row of the catalogue.
type Entry struct {
	Code Code
	// Hint is the default action_hint.
	Hint string
	// Recoverable says that the agent itself can go on, without a person.
	Recoverable bool
	// Occurs says when, in one sentence; docs/refusals.md is made of it.
	Occurs string
	// Next is the default suggestion.
	Next string
}

// Catalogue returns every entry in documented order. The slice is the caller's.
func Catalogue() []Entry {
	selectNext := "Call list_intents, then select_active_intent with the id of the intent that covers this work, and pass the returned `session` on each call."
	return []Entry{
		{RoleForbidden, HintAskUser, false, "the token of the client has a role that may only read", "Go on with tools that only read, or ask the user for a token of another role."},
		{MissingOrInvalidIntent, HintSelectIntent, true, "no intent is selected, or the intent is unknown", selectNext},
		{IntentNotActive, HintSelectIntent, true, "the intent is BLOCKED or DONE", "Select an intent that is TODO or IN_PROGRESS (list_intents shows them)."},
		{IntentIgnored, HintSelectIntent, true, "an `intent:` line of .intentignore forbids the intent", "Select another intent (list_intents shows them)."},
		{IntentMismatch, HintSelectIntent, true, "`intent_id` is not the selected intent, or several are live and none is named", "Pass the `session` or `intent_id` that the message names."},
		{SessionExpired, HintSelectIntent, true, "the session handle is unknown, expired or another principal's", "Call select_active_intent again and use the new `session`."},
		{ScopeViolation, HintExpandScope, true, "a path is outside the intent's owned_scope", "Call request_scope_expansion with the path and the reason, or select an intent that owns it."},
		{CommandOutOfScope, HintExpandScope, true, "a command ran and changed paths outside the scope", "Look at the listed files; call request_scope_expansion if they belong to this work."},
		{IntentignorePathBlocked, HintChooseFile, true, "a path rule of .intentignore covers the path", "Choose a different file; the operator keeps this one out of reach."},
		{ProtectedPath, HintChooseFile, true, "the path belongs to the governance files, to git, or to what this program keeps of the user", "Choose a different file; this one is changed only by its own tools or by the operator."},
		{PathOutsideWorkspace, HintChooseFile, true, "the path leaves the workspace or cannot name a file", "Use a path inside the workspace, relative to its root."},
		{NotARegularFile, HintChooseFile, true, "the path is a directory, device, socket or FIFO", "Name a regular file."},
		{StaleFile, HintReadFile, true, "the file is not what the agent last saw", "Look at the present content, then make the change again on top of it."},
		{ReadRequired, HintReadFile, true, "an existing file would be overwritten without having been read", "Call read_file on the path (all of its lines), then write."},
		{CommandBlocked, HintFollowConstraints, true, "a command rule denies the command, or it cannot be judged", "Do the work without this command, or ask the operator."},
		{RuleViolation, HintFollowConstraints, true, "a rule refuses the change", "Change the content so that it keeps to the rule."},
		{VerifyFailed, HintFollowConstraints, true, "a verify command failed when the intent was to be done", "Mend what the output names, then try again."},
		{MutationClassMismatch, HintCorrectClass, true, "the declared class is contradicted and classes are enforced", "Declare INTENT_EVOLUTION, or make the change a pure refactor."},
		{ApprovalRequired, HintResumeApproval, true, "an operator has to answer first", "Tell the user, then call resume_approval with the approval's id."},
		{ApprovalRejected, HintAskUser, false, "the operator said no", "Ask the user how to go on."},
		{IntentsUnreadable, HintAskUser, false, "active_intents.yaml or .intentignore does not parse", "Ask the user to mend the file; `orchestra-mcp intents validate` shows every problem."},
		{WorkspaceNotInitialized, HintAskUser, false, "there is no active_intents.yaml", "Ask the user to run `orchestra-mcp init` in the workspace."},
		{LedgerUnavailable, HintAskUser, false, "the ledger cannot be written", "Ask the user to run `orchestra-mcp doctor` in the workspace, and to look at the server's log."},
		{SandboxUnavailable, HintAskUser, false, "the required sandbox level is not available", "Ask the user to change the `sandbox` setting or the machine; `orchestra-mcp doctor` says what it can do."},
		{HookBlocked, HintAskUser, false, "a hook said no, failed, panicked, timed out or decided nothing", "Ask the user to look at the hook that the message names."},
		{UpstreamUnavailable, HintAskUser, false, "another server cannot be started or reached, or its tool waits for the operator", "Ask the user to look at `orchestra-mcp servers list`."},
		{InternalError, HintAskUser, false, "a fault of the server", "Ask the user to look at the server's log."},
		{Busy, HintRetry, true, "a lock was not free in time", "Try the same call again."},
		{Cancelled, HintRetry, true, "the call was cancelled before it took effect", "Nothing was changed; try again if it is still wanted."},
		{InvalidArguments, HintFixArguments, true, "the arguments do not fit the input schema", "Mend the arguments that the message names."},
		{FileNotFound, HintListFiles, true, "a file, artifact or request is not there", "Call list_files or search_files to find the right path."},
		{DiffNotApplied, HintReadFile, true, "a diff, edit or patch does not match the file", "Call read_file on the path and make the change from its present lines."},
		{AmbiguousMatch, HintFixArguments, true, "a search text fits several places", "Give more of the lines around the place, so that only one place fits."},
		{TooLarge, HintFixArguments, true, "a file, argument or result is over a limit", "Ask for less at once."},
	}
}

// Lookup returns the entry of a code.
func Lookup(code Code) (Entry, bool) {
	for _, entry := range Catalogue() {
		if entry.Code == code {
			return entry, true
		}
	}
	return Entry{}, false
}
