package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tailscale/hujson"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Gemini is Gemini CLI.
func Gemini() Client {
	return Client{
		Name: "gemini", Executable: "gemini", Trusting: []string{"--yolo"}, WriteTool: "write_file",
		Write: func(path, content string) Call {
			return Call{"write_file", object{"file_path": path, "content": content}}
		},
		Command: func(url, home, dir string) (argv, env []string, err error) {
			env, err = geminiHome(home, dir)
			return []string{"-p", Prompt, "-m", "gemini-2.5-pro"}, append(env, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY=dummy", "GEMINI_CLI_NO_RELAUNCH=true"), err
		},
	}
}

// geminiKey is the login by a key.
const geminiKey = "gemini-api-key"

// geminiHome gives Gemini CLI another home where the user's settings do not choose the login by a key: nothing else goes before
// them. All but the settings is the user's there, by links.
func geminiHome(home, dir string) (env []string, err error) {
	const name = "settings.json"
	own, other := filepath.Join(home, ".gemini"), filepath.Join(dir, ".gemini")
	text, err := durable.ReadRegular(filepath.Join(own, name), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("{}"), nil
	}
	var settings object
	if err == nil {
		text, err = hujson.Standardize(text)
	}
	if err == nil {
		err = json.Unmarshal(text, &settings)
	}
	if err != nil || settings == nil {
		return nil, fmt.Errorf("read the settings of Gemini CLI: %v", err)
	}
	auth := member(member(settings, "security"), "auth")
	if auth["selectedType"] == geminiKey {
		return nil, nil
	}
	auth["selectedType"] = geminiKey
	if text, err = json.Marshal(settings); err != nil {
		return nil, err
	}
	if err = os.Mkdir(other, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(other, name), text, 0o600)
	}
	files, _ := durable.ReadDirectory(own) // of a user who never ran it there are none
	for _, file := range files {
		if err == nil && file.Name() != name {
			err = os.Symlink(filepath.Join(own, file.Name()), filepath.Join(other, file.Name()))
		}
	}
	return []string{"GEMINI_CLI_HOME=" + dir}, err
}

// member is an object in another, which is made if it is not there.
func member(of object, name string) object {
	if is, _ := of[name].(object); is != nil {
		return is
	}
	made := object{}
	of[name] = made
	return made
}
