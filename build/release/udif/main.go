// Command udif makes a disk image as macOS has them, a DMG, of the HFS+ volume in a hybrid image
// that xorriso wrote: udif HYBRID.iso FILE.dmg
//
// It stands in for hdiutil where there is no Mac. Apple does not document the format (UDIF); what
// is known of it is in the sources of dmg2img and libdmg-hfsplus: blocks compressed by zlib, then a
// property list with a table of the blocks, then a trailer of 512 bytes. Numbers are big endian.
package main

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"os"
)

const (
	sector = 512
	block  = 2048 // sectors that are compressed together
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: udif HYBRID.iso FILE.dmg")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal("udif: ", err)
	}
}

func run(hybrid, dmg string) error {
	in, err := os.Open(hybrid)
	if err != nil {
		return err
	}
	defer in.Close()
	volume, sectors, err := hfs(in)
	if err != nil {
		return err
	}
	out, err := os.Create(dmg)
	if err != nil {
		return err
	}
	return errors.Join(pack(out, volume, sectors), out.Close())
}

// hfs finds the HFS+ volume by Apple's partition map: after the first block, one block for each
// partition.
func hfs(image io.ReaderAt) (volume *io.SectionReader, sectors int64, err error) {
	var first [sector]byte
	if _, err := image.ReadAt(first[:], 0); err != nil {
		return nil, 0, err
	}
	size := int64(binary.BigEndian.Uint16(first[2:])) // of the map's blocks
	if string(first[:2]) != "ER" || size == 0 {
		return nil, 0, errors.New("there is no partition map")
	}
	entry := make([]byte, sector)
	for i := int64(1); ; i++ {
		if _, err := image.ReadAt(entry, i*size); err != nil {
			return nil, 0, err
		}
		if string(entry[:2]) != "PM" {
			return nil, 0, errors.New("there is no HFS+ volume")
		}
		if kind, _, _ := bytes.Cut(entry[48:80], []byte{0}); string(kind) == "Apple_HFS" {
			start, blocks := int64(binary.BigEndian.Uint32(entry[8:])), int64(binary.BigEndian.Uint32(entry[12:]))
			return io.NewSectionReader(image, start*size, blocks*size), blocks * size / sector, nil
		}
	}
}

// chunk is a row of the table of blocks.
type chunk struct {
	Kind, Comment   uint32
	Sector, Sectors uint64 // what it holds
	Offset, Length  uint64 // where that lies, compressed
}

const (
	compressed = 0x80000005 // by zlib
	last       = 0xffffffff
)

// checksum is a CRC-32 as UDIF has them.
type checksum struct {
	Kind, Bits uint32
	Words      [32]uint32
}

func crc(sum uint32) checksum { return checksum{Kind: 2, Bits: 32, Words: [32]uint32{sum}} }

// table is what comes before the rows.
type table struct {
	Signature       [4]byte // "mish"
	Version         uint32
	Sector, Sectors uint64
	Offset          uint64
	Buffers, Index  uint32
	_               [6]uint32
	Checksum        checksum
	Chunks          uint32
}

// trailer is the end of the file.
type trailer struct {
	Signature                      [4]byte // "koly"
	Version, Size, Flags           uint32
	RunningOffset                  uint64
	DataOffset, DataLength         uint64
	ResourceOffset, ResourceLength uint64
	Segment, Segments              uint32
	SegmentID                      [16]byte
	DataChecksum                   checksum
	ListOffset, ListLength         uint64
	_                              [120]byte
	Checksum                       checksum // of the tables' checksums
	Variant                        uint32
	Sectors                        uint64
	_                              [12]byte
}

func pack(out io.Writer, volume io.Reader, sectors int64) error {
	var chunks []chunk
	var written uint64
	whole, packed := crc32.NewIEEE(), crc32.NewIEEE()
	data := io.MultiWriter(out, packed)
	buffer := make([]byte, block*sector)
	for at := int64(0); at < sectors; at += block {
		part := buffer[:min(block, sectors-at)*sector]
		if _, err := io.ReadFull(volume, part); err != nil {
			return err
		}
		whole.Write(part)
		var small bytes.Buffer
		z := zlib.NewWriter(&small)
		if _, err := z.Write(part); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		if _, err := data.Write(small.Bytes()); err != nil {
			return err
		}
		chunks = append(chunks, chunk{Kind: compressed, Sector: uint64(at), Sectors: uint64(len(part) / sector), Offset: written, Length: uint64(small.Len())})
		written += uint64(small.Len())
	}
	chunks = append(chunks, chunk{Kind: last, Sector: uint64(sectors), Offset: written})
	var blocks bytes.Buffer
	head := table{Signature: [4]byte{'m', 'i', 's', 'h'}, Version: 1, Sectors: uint64(sectors), Buffers: block + 8, Checksum: crc(whole.Sum32()), Chunks: uint32(len(chunks))}
	if err := errors.Join(binary.Write(&blocks, binary.BigEndian, head), binary.Write(&blocks, binary.BigEndian, chunks)); err != nil {
		return err
	}
	list := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>resource-fork</key><dict><key>blkx</key><array><dict>
<key>Attributes</key><string>0x0050</string><key>CFName</key><string>whole disk (Apple_HFS : 0)</string>
<key>Data</key><data>%s</data>
<key>ID</key><string>0</string><key>Name</key><string>whole disk (Apple_HFS : 0)</string>
</dict></array></dict></dict></plist>
`, base64.StdEncoding.EncodeToString(blocks.Bytes()))
	if _, err := io.WriteString(out, list); err != nil {
		return err
	}
	return binary.Write(out, binary.BigEndian, trailer{
		Signature: [4]byte{'k', 'o', 'l', 'y'}, Version: 4, Size: 512, Flags: 1, DataLength: written, Segment: 1, Segments: 1, DataChecksum: crc(packed.Sum32()),
		ListOffset: written, ListLength: uint64(len(list)), Variant: 1, Sectors: uint64(sectors),
		Checksum: crc(crc32.ChecksumIEEE(binary.BigEndian.AppendUint32(nil, whole.Sum32()))),
	})
}
