package plugin

import "testing"

func TestABlockedTextIsFoundWhereverItStands(t *testing.T) {
	for _, given := range []string{`{"cmd":"SUDO ls"}`, `{"cmd":["sh",{"c":"sudo ls"}]}`, "sudo ls"} {
		if found := Found(Defaults(), given); found != "sudo " {
			t.Errorf("%s: %q", given, found)
		}
	}
}

func TestOtherCallsProceed(t *testing.T) {
	if found := Found(Settings{Blocked: []string{"curl"}}, `{"cmd":"sudo ls"}`); found != "" {
		t.Error(found)
	}
}
