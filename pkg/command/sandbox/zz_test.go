package sandbox_test
import ("testing";"github.com/intentgov/orchestra-mcp/pkg/command/sandbox")
func TestZZ(t *testing.T){ t.Logf("%+v", sandbox.Probe())
 dir:=t.TempDir(); files(t,dir,"src/a")
 out,code:=held(t, sandbox.Full, &sandbox.Box{Workspace:dir,Temp:t.TempDir(),Writable:[]string{dir+"/src"}}, "id; ls -la / /dev /tmp; pwd; cat /proc/self/status | grep -i cap; echo x > src/b; echo y > c; ps aux; mount; exit 7")
 t.Log(code, out)
}
