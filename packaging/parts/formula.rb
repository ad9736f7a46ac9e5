class OrchestraMcp < Formula
  desc "{{.Description}}"
  homepage "{{.Repository}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.Processor}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  depends_on "bash"
  depends_on "git"

  def install
    bin.install "orchestra-mcp"
    generate_completions_from_executable(bin/"orchestra-mcp", "completion")
    man1.install Dir["man/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/orchestra-mcp version")
  end
end
