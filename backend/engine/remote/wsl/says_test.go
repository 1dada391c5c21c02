package wsl

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/forevervm/desktop/backend/machine"
)

func utf16le(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// What wsl.exe says is known by the codes in it, in any language and either encoding.
func TestWhatWSLSays(t *testing.T) {
	for said, want := range map[string]Problem{
		"L’ordinateur virtuel n’a pas pu être démarré.\r\nCode d’erreur : Wsl/Service/CreateInstance/CreateVm/HCS/HCS_E_HYPERV_NOT_INSTALLED\r\n":                                                                unvirtual,
		"WSL2 is not supported with your current machine configuration.\nPlease visit https://aka.ms/enablevirtualization\r\nError code: Wsl/Service/RegisterDistro/CreateVm/HCS/HCS_E_HYPERV_NOT_INSTALLED\r\n": unvirtual,
		"WslRegisterDistribution failed with error: 0x80370102\r\n":                                                     unvirtual,
		"未安装所需的特性，无法启动操作。\r\n错误代码: Wsl/Service/CreateVm/HCS_E_SERVICE_NOT_AVAILABLE\r\n":                                incomplete,
		"Error: 0x80370114 The operation could not be started because a required feature is not installed.":             incomplete,
		"Default Version: 2\r\nPlease enable the \"Virtual Machine Platform\": https://aka.ms/enablevirtualization\r\n": incomplete,
		"必要な機能がインストールされていません。\r\nエラー コード: Wsl/WSL_E_WSL_OPTIONAL_COMPONENT_REQUIRED\r\n":                                notInstalled,
		"Error: 0x8007019E": notInstalled,
		"Error: 0x800701bc WSL 2 benötigt ein Update der Kernelkomponente. https://aka.ms/wsl2kernel":                outdated,
		"Fehlercode: Wsl/ERROR_ACCESS_DISABLED_BY_POLICY":                                                            forbidden,
		"Klasse nicht registriert\r\nFehlercode: Wsl/CallMsi/Install/REGDB_E_CLASSNOTREG":                            broken,
		"Espacio insuficiente en el disco.\r\nCódigo de error: Wsl/Service/RegisterDistro/ERROR_DISK_FULL":           full,
		"Error code: Wsl/Service/CreateInstance/CreateVm/HCS/0x800705aa":                                             noMemory,
		"Error code: Wsl/Service/CreateInstance/MountDisk/WSL_E_DISK_CORRUPTED":                                      damaged,
		"Error code: Wsl/Service/WSL_E_DISTRO_NOT_FOUND":                                                             gone,
		"Changes will not be effective until the system is rebooted.\nError code: Wsl/ERROR_SUCCESS_REBOOT_REQUIRED": Restart,
	} {
		for _, b := range [][]byte{[]byte(said), utf16le(said), utf16le(said)[2:]} {
			got := recognize(text(b))
			if got == nil || *got != want {
				t.Errorf("%q is known as %+v, want %+v", b, got, want)
			}
		}
		err := explain(said)
		if known := problemOf(err); known == nil || *known != want || !errors.Is(err, machine.ErrUnavailable) != (want == full) {
			t.Errorf("%q is the error %v", said, err)
		}
		if want.What == "" || want.Do == "" {
			t.Errorf("%+v says too little", want)
		}
	}
}

// What is not known is shown, and nothing in it does harm.
func TestUnknownWords(t *testing.T) {
	if recognize("All is well.") != nil || explain(" \r\n") != nil {
		t.Error("nothing is taken for a problem")
	}
	for said, want := range map[string]string{
		"a\r\nKatastrophal.\r\nFehlercode: Wsl/Service/E_UNEXPECTED\r\n": "WSL says: Katastrophal. Fehlercode: Wsl/Service/E_UNEXPECTED",
		"\x1b[31mred\u202e": "WSL says: [31mred",
		strings.Repeat("x", 1000) + "\n" + strings.Repeat("y", 1000): "WSL says: " + strings.Repeat("x", 200) + "… " + strings.Repeat("y", 96) + "…",
		"K\x00\xf6\x00\r\x00\n\x00":                                  "WSL says: K?",
	} {
		if got := explain(strings.ToValidUTF8(said, "?")).Error(); got != want {
			t.Errorf("%q is told as %q, want %q", said, got, want)
		}
	}
	if got := text(utf16le("größer\r\n")); got != "größer\r\n" {
		t.Errorf("UTF-16 is read as %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\x00b"))
	f.Add([]byte{0xff, 0xfe, 0x00, 0xd8})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := explain(text(b)); err != nil && (len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x00\x1b\n")) {
			t.Errorf("%q is told as %q", b, err)
		}
	})
}
