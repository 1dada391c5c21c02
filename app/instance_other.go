//go:build !linux

package app

import "github.com/wailsapp/wails/v2/pkg/options"

// claim has nothing to do: Wails does it.
func claim(string, wish, func(wish)) (first bool, release func(), err error) {
	return true, func() {}, nil
}

// singleInstance has Wails tell the first start of the program what later ones were asked for.
func singleInstance(id string, obey func(wish)) *options.SingleInstanceLock {
	return &options.SingleInstanceLock{UniqueId: "com.forevervm.desktop." + id, OnSecondInstanceLaunch: func(data options.SecondInstanceData) {
		if w, err := parse(data.Args); err == nil {
			obey(w)
		}
	}}
}
