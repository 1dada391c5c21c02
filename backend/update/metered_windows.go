package update

import (
	"context"
	"runtime"
	"syscall"
	"unsafe"

	"github.com/go-ole/go-ole"
)

// metered asks Windows whether the way to the internet is paid for by what goes over it. Where it
// does not say, it is not.
func metered(context.Context) bool {
	cost, err := connectionCost()
	// NLM_CONNECTION_COST: fixed up to a volume, by volume, beyond or near that volume, roaming.
	return err == nil && cost&(0x2|0x4|0x10000|0x40000|0x80000) != 0
}

// connectionCost is what INetworkCostManager.GetCost answers.
func connectionCost() (cost uint32, err error) {
	runtime.LockOSThread() // which COM is begun and ended on
	defer runtime.UnlockOSThread()
	if err := ole.CoInitializeEx(0, ole.COINIT_MULTITHREADED); err != nil {
		return 0, err
	}
	defer ole.CoUninitialize()
	manager, err := ole.CreateInstance(ole.NewGUID("{DCB00C01-570F-4A9B-8D69-199FDBA5723B}"), ole.NewGUID("{DCB00008-570F-4A9B-8D69-199FDBA5723B}"))
	if err != nil {
		return 0, err
	}
	defer manager.Release()
	methods := (*[4]uintptr)(unsafe.Pointer(manager.RawVTable)) // those of IUnknown, then GetCost
	if result, _, _ := syscall.SyscallN(methods[3], uintptr(unsafe.Pointer(manager)), uintptr(unsafe.Pointer(&cost)), 0); result != 0 {
		return 0, ole.NewError(result)
	}
	return cost, nil
}
