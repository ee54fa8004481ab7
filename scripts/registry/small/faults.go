package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A fault befalls the next requests whose path begins with Path, Times of them, or all with a negative number.
//
// POST /-/fault sets it, in the place of the one before; GET /-/requests tells how many requests there were and how many met a fault.
type fault struct {
	Path       string `json:"path"`
	Times      int    `json:"times"`
	Status     int    `json:"status"`
	RetryAfter string `json:"retry_after"`
	// Milliseconds before the answer.
	Slow int `json:"slow"`
	// An answer in the place of the right one.
	Body string `json:"body"`
	// Closes the connection without a word.
	Close bool `json:"close"`
}

type faulty struct {
	next http.Handler

	mutex    sync.Mutex
	fault    fault
	requests int
	faults   int
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/-/fault":
		var set fault
		if err := json.NewDecoder(r.Body).Decode(&set); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mutex.Lock()
		f.fault = set
		f.mutex.Unlock()
		answer(w, http.StatusOK, "{}")
	case "/-/requests":
		f.mutex.Lock()
		counts, _ := json.Marshal(map[string]int{"requests": f.requests, "faults": f.faults})
		f.mutex.Unlock()
		answer(w, http.StatusOK, string(counts))
	default:
		f.serve(w, r)
	}
}

func (f *faulty) serve(w http.ResponseWriter, r *http.Request) {
	met, fault := f.meet(r)
	if !met {
		f.next.ServeHTTP(w, r)
		return
	}
	select {
	case <-time.After(time.Duration(fault.Slow) * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	switch {
	case fault.Close:
		// The server's own way of closing a connection without an answer.
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		answer(w, fault.Status, fault.Body)
	case fault.Body != "":
		answer(w, http.StatusOK, fault.Body)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// meet says whether the request meets the fault, and counts both.
func (f *faulty) meet(r *http.Request) (bool, fault) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.requests++
	if f.fault.Times == 0 || !strings.HasPrefix(r.URL.Path, f.fault.Path) {
		return false, fault{}
	}
	if f.fault.Times > 0 {
		f.fault.Times--
	}
	f.faults++
	return true, f.fault
}
