// Package clientrules tells what the user's own rules in a client's settings say of a command line. A hook of ours replaces
// the line before the client compares it with these rules, which would lose their force without this.
//
// It promises that a rule which denies or asks is found where the client would find it, and often where the client would
// not: behind programs that run others, under a path, in the text of sh -c. [Allow] is said only of a line that consists of
// plain simple commands, of which each is one that the client runs without asking, or of any in a mode that asks about
// nothing; never of one with an unjudged part. A file that cannot be read or understood makes the answer [Unknown]. All files are hostile text of bounded size: nothing in
// them is executed, and patterns are matched in linear time.
//
// Some clients compare the line that a hook gives back with their rules. A caller who judges that line too learns what the
// client will do by itself: a verdict that is not below the first is kept without the hook, one of Deny makes the client
// refuse whatever the hook says.
//
// It sees files and a few variables of the environment. It does not see: rules of the command line (--allowedTools,
// --settings, -c, --policy), answers of a person that hold for a session, rules that a server or a device manager sends, whether
// the client trusts the workspace (Claude Code waits with a project's allow rules for that, Gemini with its settings), or the
// lists that editors keep in databases of their own. So a restriction that stands only there is not found.
package clientrules
