//go:build linux

package sandbox

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
)

// cpuAnnotation tells gVisor which of the processor's features programs may see.
const cpuAnnotation = "dev.gvisor.internal.cpufeatures"

// portable are the features of x86-64-v3, which every processor of the last ten years has, and what
// gVisor itself needs to know of. Libraries choose their code by what they see when they are
// imported, that is in the template.
var portable = strings.Fields(`
	fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx rdtscp lm
	pni pclmulqdq ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave osxsave avx f16c rdrand lahf_lm abm fsgsbase bmi1 avx2
	smep bmi2 erms smap xsaveopt xsavec xgetbv1 xsaves
`)

// cpuFeatures returns the features that a sandbox goes by that is started afresh, empty where they
// are not known, and whether the annotation is to say so. Restricting features makes a checkpoint
// restorable on other processors, but only where the processor can hide them (CPUID faulting):
// elsewhere programs see all of them anyway, and gVisor's comparison at a restore must then know of
// all.
func (r *runsc) cpuFeatures(ctx context.Context) (features string, restricted bool) {
	if runtime.GOARCH != "amd64" { // on others gVisor compares nothing
		return "", false
	}
	out, err := r.command(ctx, "cpu-features").Output()
	if err != nil {
		return "", false
	}
	features = strings.TrimSpace(string(out))
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !slices.Contains(strings.Fields(string(info)), "cpuid_fault") {
		return features, false
	}
	return restrict(features), true
}

// restrict keeps of a list of features those that are portable.
func restrict(list string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(strings.TrimSpace(list), ","), func(f string) bool {
		return !slices.Contains(portable, f)
	}), ",")
}
