// A schema registry in memory for tests, on a loopback port. It prints its address and ends when its standard input does.
//
// Users: "-user name:password" is asked for by every request. Encryption: "-certificate" and "-key" name PEM files.
// Faults: see faults.go.
package main

import (
	"crypto/subtle"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/sr/srfake"
)

const mediaType = "application/vnd.schemaregistry.v1+json"

func main() {
	user := flag.String("user", "", "name:password that requests must carry")
	certificate := flag.String("certificate", "", "PEM file of the certificate; without it HTTP is spoken")
	key := flag.String("key", "", "PEM file of the certificate's key")
	flag.Parse()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	scheme, host := "http", listener.Addr().String()
	if *certificate != "" {
		scheme, host = "https", strings.Replace(host, "127.0.0.1", "localhost", 1)
	}
	fmt.Printf("%s://%s\n", scheme, host)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()

	registry := srfake.NewRegistry()
	handler := &faulty{next: guarded(*user, registry.Handler())}
	if *certificate != "" {
		log.Fatal(http.ServeTLS(listener, handler, *certificate, *key))
	}
	log.Fatal(http.Serve(listener, handler))
}

// guarded refuses a wrong user as Confluent's registry does; the library's own way says 403 to a wrong password.
func guarded(user string, next http.Handler) http.Handler {
	if user == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		if subtle.ConstantTimeCompare([]byte(name+":"+password), []byte(user)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="schemas"`)
			answer(w, http.StatusUnauthorized, `{"error_code":401,"message":"unknown user or password"}`)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
