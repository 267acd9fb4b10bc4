// An API in Go that Countersign protects, with the standard library alone. It verifies bearers by
// introspection, remembers the answers while the feed of revocations tells what has changed, and forgets by
// tag: the rules are in docs/resource.md, and hearing.ts of the library beside it has the reasons.
//
//	ISSUER=https://api.example.com INTERNAL_URL=http://countersign.internal:8082 \
//	SERVICE_ID=… SERVICE_SECRET=… LISTEN=127.0.0.1:9000 go run main.go
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// How far a node of the gateway may be behind, and this program.
	staleAtMost   = 2500 * time.Millisecond
	askTimeout    = 5 * time.Second
	silenceAtMost = 10 * time.Second
	// The clocks of two machines go apart: a stream is opened anew after so long.
	ageAtMost      = 30 * time.Minute
	rememberedMost = 50_000
	toldMost       = 100_000
)

// Whatever looks otherwise was never issued, and costs no call.
var bearer = regexp.MustCompile(`^cs[ls][ap][A-Za-z0-9]{49}$`)

// Access is what introspection says of a token.
type Access struct {
	Active   bool     `json:"active"`
	Subject  string   `json:"sub"`
	Scope    string   `json:"scope"`
	Accounts []string `json:"account_numbers"`
	Audience []string `json:"aud"`
	// Of a sender that has to prove itself, which nothing here looks at.
	Confirmation map[string]string `json:"cnf"`
	Expires  int64    `json:"exp"`
	Tags     []string `json:"tags"`
}

// A stream of the feed that is open.
type stream struct {
	own                          string // The tag of the service: other answers are in other words.
	sentAt, openedAt, heardUntil time.Time
}

// Verifier knows the bearers of one site.
type Verifier struct {
	Issuer, InternalURL, ServiceID, ServiceSecret string

	mu         sync.Mutex
	feed       *stream
	remembered map[[32]byte]*Access
	byTag      map[string]map[[32]byte]bool
	toldAt     map[string]time.Time
	anyToldAt  time.Time // Of more tags than are kept.
}

func (v *Verifier) isLive() bool {
	if v.feed == nil {
		return false
	}
	now := time.Now()
	// By the clock on the wall too, which goes on while a machine sleeps.
	asleep := now.Round(0).Sub(v.feed.heardUntil.Round(0))
	return now.Sub(v.feed.heardUntil) < staleAtMost && asleep < staleAtMost
}

// Find answers nil for a token that does not count. An error says that nobody can know: 503, never 401.
func (v *Verifier) Find(token string) (*Access, error) {
	if !bearer.MatchString(token) {
		return nil, nil
	}
	key := sha256.Sum256([]byte(token))
	v.mu.Lock()
	known := v.remembered[key]
	if !v.isLive() {
		known = nil
	}
	v.mu.Unlock()
	if known == nil {
		var err error
		if known, err = v.ask(token, key, false); err != nil {
			return nil, err
		}
	}
	if known == nil || (known.Expires != 0 && time.Now().Unix() >= known.Expires) {
		return nil, nil
	}
	return known, nil
}

func (v *Verifier) ask(token string, key [32]byte, anew bool) (*Access, error) {
	v.mu.Lock()
	feed, askedAt := v.feed, time.Now()
	// What was told before the stream opened may not be known to the node that answers.
	anew = anew || (feed != nil && askedAt.Sub(feed.openedAt) < staleAtMost)
	v.mu.Unlock()
	access, err := v.introspect(token, anew)
	if err != nil || !access.Active {
		return nil, err
	}
	v.mu.Lock()
	since := askedAt
	if !anew {
		since = askedAt.Add(-staleAtMost)
	}
	told := time.Since(askedAt) > askTimeout || !v.anyToldAt.Before(since)
	for _, tag := range access.Tags {
		at, ok := v.toldAt[tag]
		told = told || (ok && !at.Before(since))
	}
	if !told && feed != nil && feed == v.feed && v.isLive() && len(access.Tags) > 0 && access.Tags[0] == feed.own {
		v.remember(key, access)
	}
	v.mu.Unlock()
	if told && !anew {
		return v.ask(token, key, true)
	}
	return access, nil
}

func (v *Verifier) introspect(token string, anew bool) (*Access, error) {
	body := strings.NewReader(url.Values{"token": {token}}.Encode())
	request, err := http.NewRequest("POST", v.Issuer+"/v1/oauth/introspect", body)
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth(v.ServiceID, v.ServiceSecret)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if anew {
		request.Header.Set("Cache-Control", "no-cache")
	}
	client := http.Client{Timeout: askTimeout}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the gateway answered %s", response.Status)
	}
	access := &Access{}
	return access, json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(access)
}

func (v *Verifier) remember(key [32]byte, access *Access) {
	if len(v.remembered) >= rememberedMost {
		v.forgetEverything()
	}
	v.remembered[key] = access
	for _, tag := range access.Tags {
		if v.byTag[tag] == nil {
			v.byTag[tag] = map[[32]byte]bool{}
		}
		v.byTag[tag][key] = true
	}
}

func (v *Verifier) forgetEverything() {
	v.remembered = map[[32]byte]*Access{}
	v.byTag = map[string]map[[32]byte]bool{}
}

func (v *Verifier) changed(tags []string) {
	now := time.Now()
	for tag, at := range v.toldAt {
		if now.Sub(at) > staleAtMost+askTimeout {
			delete(v.toldAt, tag)
		}
	}
	if len(v.toldAt)+len(tags) > toldMost {
		v.toldAt, v.anyToldAt = map[string]time.Time{}, now
	}
	for _, tag := range tags {
		v.toldAt[tag] = now
		for key := range v.byTag[tag] {
			delete(v.remembered, key)
		}
		delete(v.byTag, tag)
	}
}

// Listen keeps a stream of the feed open, for as long as the program runs.
func (v *Verifier) Listen() {
	v.mu.Lock()
	v.forgetEverything()
	v.toldAt = map[string]time.Time{}
	v.mu.Unlock()
	for {
		err := v.hear()
		v.mu.Lock()
		v.feed = nil
		v.forgetEverything()
		v.mu.Unlock()
		log.Printf("feed ended: %v", err)
		time.Sleep(time.Second)
	}
}

func (v *Verifier) hear() error {
	request, err := http.NewRequest("GET", v.InternalURL+"/internal/v1/revocations", nil)
	if err != nil {
		return err
	}
	request.SetBasicAuth(v.ServiceID, v.ServiceSecret)
	// Not later than the gateway's own moment of opening; and not earlier.
	var sentAt time.Time
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sentAt = time.Now() }}
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))
	transport := &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: silenceAtMost}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway answered %s", response.Status)
	}
	openedAt := time.Now()
	silence := time.AfterFunc(silenceAtMost, func() { response.Body.Close() })
	defer silence.Stop()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 4<<20)
	event := ""
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		if name == "event" {
			event = value
		}
		if name != "data" {
			continue
		}
		v.mu.Lock()
		switch event {
		case "open":
			v.feed = &stream{own: value, sentAt: sentAt, openedAt: openedAt}
		case "changed":
			v.changed(strings.Fields(value))
			log.Printf("changed: %s", value)
		case "beat":
			ms, err := strconv.ParseFloat(value, 64)
			if err == nil && v.feed != nil {
				v.beat(time.Duration(ms) * time.Millisecond)
				silence.Reset(silenceAtMost)
			}
		}
		v.mu.Unlock()
		if time.Since(openedAt) > ageAtMost {
			return errors.New("it is opened anew every half an hour")
		}
	}
	return errors.Join(lines.Err(), errors.New("the gateway ended it"))
}

// Everything has been told that happened until so long after the gateway opened the stream.
func (v *Verifier) beat(after time.Duration) {
	feed, now := v.feed, time.Now()
	if feed.heardUntil.IsZero() {
		log.Print("feed opened")
	}
	until := feed.sentAt.Add(after - after.Abs()/10_000)
	if until.After(now) {
		until = now
	}
	if until.After(feed.heardUntil) {
		feed.heardUntil = until
	}
}

// Require lets in whoever has the scope, in the account that the request is about if it is about one.
func (v *Verifier) Require(scope string, account func(*http.Request) string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		refuse := func(status int, name, description string) {
			parameters := `realm="countersign"`
			if name != "unauthorized" {
				parameters += fmt.Sprintf(`, error="%s", error_description="%s"`, name, description)
			}
			if status != http.StatusServiceUnavailable {
				w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer %s, scope="%s"`, parameters, scope))
			}
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(map[string]string{"error": name, "error_description": description})
		}
		word, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(word, "Bearer") {
			refuse(401, "unauthorized", "Send an access token in the Authorization header, after the word Bearer.")
			return
		}
		access, err := v.Find(strings.TrimSpace(token))
		switch {
		case err != nil:
			log.Printf("503: %v", err)
			w.Header().Set("Retry-After", "1")
			refuse(503, "temporarily_unavailable", "Whether this token may be used cannot be found out. Try again.")
		// This API has no name in RFC 8707: a token that is for others alone is not for it.
		case access == nil || len(access.Audience) > 0 || access.Confirmation != nil:
			refuse(401, "invalid_token", "The access token is unknown, expired or revoked.")
		case !slices.Contains(strings.Fields(access.Scope), scope):
			refuse(403, "insufficient_scope", "This token lacks the scope "+scope+".")
		case account != nil && !slices.Contains(access.Accounts, account(r)):
			refuse(403, "insufficient_scope", "This token does not reach the account.")
		default:
			next(w, r)
		}
	}
}

func main() {
	v := &Verifier{
		Issuer: os.Getenv("ISSUER"), InternalURL: os.Getenv("INTERNAL_URL"),
		ServiceID: os.Getenv("SERVICE_ID"), ServiceSecret: os.Getenv("SERVICE_SECRET"),
	}
	go v.Listen()
	account := func(r *http.Request) string { return r.URL.Query().Get("account") }
	http.HandleFunc("/positions", v.Require("read", account, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "[]")
	}))
	listener, err := net.Listen("tcp", os.Getenv("LISTEN"))
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("listening on http://%s", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
