package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// request is one step, as it was read.
type request map[string]json.RawMessage

// allow fails if the step names something that this driver would pass over in silence.
func (r request) allow(known ...string) error {
	for name := range r {
		if name != "id" && name != "step" && !slices.Contains(known, name) {
			return unsupported{"no option for " + name}
		}
	}
	return nil
}

func (r request) has(name string) bool { return r[name] != nil }

func read[T any](r request, name string) T {
	var value T
	if raw, found := r[name]; found {
		if err := json.Unmarshal(raw, &value); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
	}
	return value
}

func (r request) text(name string) string { return read[string](r, name) }

func (r request) flag(name string) bool { return read[bool](r, name) }

func (r request) span(name string) time.Duration {
	return time.Duration(read[int64](r, name)) * time.Millisecond
}

// wait tells how long to wait: nil for not at all, or a length.
func (r request) wait() (*time.Duration, error) {
	if string(r["wait"]) == "false" {
		return nil, nil
	}
	if string(r["wait"]) == `"forever"` {
		return nil, unsupported{"it cannot wait for ever"}
	}
	span := r.span("wait")
	return &span, nil
}

// attribute is one of DynamoDB's values in its own JSON, of the types S, N and BOOL.
type attribute map[string]any

// attributes makes of each attribute what the client's kit has for its type.
func attributes[T any](r request, text, number func(string) T, flag func(bool) T) (map[string]T, error) {
	found := map[string]T{}
	for name, typed := range read[map[string]attribute](r, "attributes") {
		switch {
		case typed["S"] != nil:
			found[name] = text(typed["S"].(string))
		case typed["N"] != nil:
			found[name] = number(typed["N"].(string))
		case typed["BOOL"] != nil:
			found[name] = flag(typed["BOOL"].(bool))
		default:
			return nil, unsupported{"this driver carries attributes of type S, N and BOOL"}
		}
	}
	return found, nil
}

func kindOf(err error) string {
	// Of either kit of Amazon's: the older says Code, the newer ErrorCode.
	var older interface{ Code() string }
	var newer interface{ ErrorCode() string }
	if errors.As(err, &newer) {
		return newer.ErrorCode()
	}
	if errors.As(err, &older) {
		return older.Code()
	}
	return fmt.Sprintf("%T", err)
}
