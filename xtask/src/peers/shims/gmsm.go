// SM2 of github.com/emmansun/gmsm as functions for C. Keys are handles; what is written goes to memory of the caller.
package main

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"crypto/ecdsa"
	"crypto/rand"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"

	"github.com/emmansun/gmsm/sm2"
)

const module = "github.com/emmansun/gmsm"

func main() {}

func in(at *C.uint8_t, length C.size_t) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(at)), int(length))
}

// Copies what there is room for, and gives the whole length: 0 where the operation failed.
func out(to *C.uint8_t, room C.size_t, from []byte, err error) C.size_t {
	if err != nil || len(from) > int(room) {
		return 0
	}
	copy(in(to, room), from)
	return C.size_t(len(from))
}

func secret(key C.uintptr_t) *sm2.PrivateKey { return cgo.Handle(key).Value().(*sm2.PrivateKey) }

func public(key C.uintptr_t) *ecdsa.PublicKey { return cgo.Handle(key).Value().(*ecdsa.PublicKey) }

//export candor_gmsm_version
func candor_gmsm_version(to *C.uint8_t, room C.size_t) C.size_t {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				version = dependency.Version
			}
		}
	}
	return out(to, room, []byte(version), nil)
}

//export candor_gmsm_free
func candor_gmsm_free(key C.uintptr_t) { cgo.Handle(key).Delete() }

//export candor_gmsm_generate
func candor_gmsm_generate(point *C.uint8_t) C.uintptr_t {
	key, err := sm2.GenerateKey(rand.Reader)
	if err != nil {
		return 0
	}
	write(&key.PublicKey, point)
	return C.uintptr_t(cgo.NewHandle(key))
}

// The point in SEC1's form, uncompressed.
func write(key *ecdsa.PublicKey, point *C.uint8_t) {
	bytes := in(point, 65)
	bytes[0] = 4
	key.X.FillBytes(bytes[1:33])
	key.Y.FillBytes(bytes[33:65])
}

//export candor_gmsm_secret
func candor_gmsm_secret(number *C.uint8_t) C.uintptr_t {
	key, err := sm2.NewPrivateKey(in(number, 32))
	if err != nil {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(key))
}

//export candor_gmsm_public
func candor_gmsm_public(point *C.uint8_t) C.uintptr_t {
	key, err := sm2.NewPublicKey(in(point, 65))
	if err != nil {
		return 0
	}
	return C.uintptr_t(cgo.NewHandle(key))
}

//export candor_gmsm_sign
func candor_gmsm_sign(key C.uintptr_t, digest *C.uint8_t, to *C.uint8_t, room C.size_t) C.size_t {
	signature, err := sm2.SignASN1(rand.Reader, secret(key), in(digest, 32), nil)
	return out(to, room, signature, err)
}

//export candor_gmsm_verify
func candor_gmsm_verify(key C.uintptr_t, digest *C.uint8_t, signature *C.uint8_t, length C.size_t) C.int {
	if sm2.VerifyASN1(public(key), in(digest, 32), in(signature, length)) {
		return 1
	}
	return 0
}

//export candor_gmsm_encrypt
func candor_gmsm_encrypt(key C.uintptr_t, message *C.uint8_t, length C.size_t, to *C.uint8_t, room C.size_t) C.size_t {
	ciphertext, err := sm2.EncryptASN1(rand.Reader, public(key), in(message, length))
	return out(to, room, ciphertext, err)
}

//export candor_gmsm_decrypt
func candor_gmsm_decrypt(key C.uintptr_t, ciphertext *C.uint8_t, length C.size_t, to *C.uint8_t, room C.size_t) C.size_t {
	message, err := sm2.Decrypt(secret(key), in(ciphertext, length))
	return out(to, room, message, err)
}
