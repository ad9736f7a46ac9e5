package clienthook

// vscodeForm is of the hooks of VS Code's own agent, in preview. Its answers are Claude Code's, its tools are not.
func vscodeForm() form {
	return form{
		read: readGitHub, emit: emitVSCode, phases: claudePhases(), prefix: "mcp_", separator: "_", tools: gitHubTools(),
		rewrites:  "PreToolUse",
		abilities: Abilities{Rewrite: true, LimitSeconds: 20},
	}
}

// gitHubTools are those of VS Code, and then those of Copilot.
func gitHubTools() []row {
	return []row{
		{takeWrite, "create_file"}, {takeEdit, "replace_string_in_file"}, {takeReplacements, "multi_replace_string_in_file"},
		{takePatch, "apply_patch"}, {takeChange, "insert_edit_into_file edit_notebook_file"}, {takeFiles, "editFiles edit_files"},
		{takeDirectory, "create_directory"}, {takeDelete, "delete_file"},
		{takeCommand, "run_in_terminal"}, {takeRead, "read_file view_image"},
		{takeLook, "list_dir file_search"}, {takeSearch, "grep_search semantic_search"},
		{refuse("run it in the terminal instead"), "create_and_run_task run_task run_notebook_cell run_vscode_command run_tests runTests"},
		{refuse("edit the files one by one"), "vscode_renameSymbol rename_file move_file create_new_workspace create_new_jupyter_notebook"},

		{takeWrite, "create Write"}, {takeEdit, "edit str_replace Edit"}, {takeEdits, "MultiEdit"}, {takeEditor, "str_replace_editor"},
		{takePatch, "git_apply_patch"}, {takeChange, "NotebookEdit"},
		{takeCommand, "bash powershell Bash PowerShell Powershell"},
		{takeRead, "view Read"}, {takeLook, "glob Glob LS"}, {takeSearch, "grep rg Grep"},
	}
}

// emitVSCode denies also by the exit code, which Copilot takes as well: both run the hooks that they find in .github/hooks.
func emitVSCode(e Event, a Answer, input []byte) Output {
	out := emitClaude(e, a, input)
	if e.Phase == Before && a.Verdict == Deny {
		out.Stderr, out.ExitCode = []byte(a.Reason+"\n"), 2
	}
	return out
}

func takeDirectory(in *object) Action { return Change{Paths: []string{in.full("dirPath")}} }

func takeFiles(in *object) Action {
	files := in.texts("files")
	if len(files) == 0 {
		in.fail("files is missing")
	}
	return Change{Paths: files}
}

// takeReplacements: they may be of several files, which no other action says.
func takeReplacements(in *object) Action {
	parts := in.objects("replacements")
	if len(parts) == 0 {
		in.fail("replacements is missing")
		return Change{}
	}
	one, paths := true, []string(nil)
	for _, part := range parts {
		paths = append(paths, path(part))
		one = one && paths[0] == paths[len(paths)-1]
	}
	if one {
		return edit(paths[0], parts...)
	}
	return Change{Paths: paths}
}
