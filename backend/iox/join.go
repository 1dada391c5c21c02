// Package iox adds to package io: joining two connections, and keeping the end of what is written.
package iox

import (
	"errors"
	"io"
	"net"
	"sync"
)

// What a piece costs are several changes between threads, however large it is: where much comes, it
// goes in large ones. Of connections that are quiet there may be thousands, each of which holds a
// small one.
const (
	small = 16 << 10
	large = 256 << 10
)

var largePieces = sync.Pool{New: func() any { b := make([]byte, large); return &b }}

// Copy writes to one what the other reads, until that ends or either fails. It reads and writes and
// nothing else, so that anyone who counts bytes there sees them all.
func Copy(to io.Writer, from io.Reader) error {
	piece := make([]byte, small)
	var borrowed *[]byte
	giveBack := func() {
		if borrowed != nil {
			largePieces.Put(borrowed)
			borrowed = nil
		}
	}
	defer giveBack()
	for {
		b := piece
		if borrowed != nil {
			b = *borrowed
		}
		n, err := from.Read(b)
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n < small {
			giveBack()
		} else if borrowed == nil {
			borrowed = largePieces.Get().(*[]byte)
		}
	}
}

// Join carries bytes both ways between two streams until both directions have ended, and closes
// both. A stream's Close ends its one direction alone: the other is read on until the far end has
// closed it, too.
func Join(a, b net.Conn) {
	var wg sync.WaitGroup
	oneWay := func(to, from net.Conn) {
		_ = Copy(to, from)
		to.Close()
	}
	wg.Go(func() { oneWay(a, b) })
	oneWay(b, a)
	wg.Wait()
}
