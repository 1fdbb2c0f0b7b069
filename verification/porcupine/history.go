package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// Operation is one line of a history; verification/histories/operations.ts has its meaning.
type Operation struct {
	Op       string  `json:"op"`
	Name     string  `json:"name"`
	Client   string  `json:"client"`
	Call     int64   `json:"call"`
	Return   *int64  `json:"return,omitempty"`
	Outcome  string  `json:"outcome"`
	Fence    string  `json:"fence,omitempty"`
	Register string  `json:"register,omitempty"`
	From     *string `json:"from,omitempty"`
	To       string  `json:"to,omitempty"`

	fence int64
}

// read reads a history from a file of JSON lines.
func read(path string) ([]Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var history []Operation
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var op Operation
		if err := json.Unmarshal(lines.Bytes(), &op); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(history)+1, err)
		}
		if err := op.parse(); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(history)+1, err)
		}
		history = append(history, op)
	}
	return history, lines.Err()
}

var known = map[string]bool{
	"acquire": true, "held": true, "release": true, "lost": true, "record": true, "write": true, "read": true,
}

func (op *Operation) parse() error {
	if !known[op.Op] {
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	if op.Return == nil && op.Outcome != "unknown" {
		return fmt.Errorf("an operation without a return has outcome %q", op.Outcome)
	}
	if op.Return != nil && *op.Return < op.Call {
		return fmt.Errorf("an operation returns before its call")
	}
	if op.Fence == "" {
		return nil
	}
	fence, err := strconv.ParseInt(op.Fence, 10, 64)
	op.fence = fence
	return err
}

func (op Operation) end() int64 {
	if op.Return == nil {
		return math.MaxInt64
	}
	return *op.Return
}

// lockHistory returns the operations on each lock. A lease whose end no client told, because its process was killed
// or its release was not acknowledged, gets an end at any time after it was last held.
func lockHistory(history []Operation) []porcupine.Operation {
	var ops []porcupine.Operation
	type lease struct{ name, fence string }
	last := map[lease]Operation{}
	ended := map[lease]bool{}
	for _, op := range history {
		key := lease{op.Name, op.Fence}
		switch op.Op {
		case "acquire", "held":
			if op.Outcome != "ok" {
				// A grant that no client learnt of changes at most the record, which other operations show.
				continue
			}
			if before, found := last[key]; !found || before.end() < op.end() {
				last[key] = op
			}
		case "release", "lost":
			ended[key] = true
		case "record":
		default:
			continue
		}
		ops = append(ops, operation(op))
	}
	for key, op := range last {
		if !ended[key] {
			end := Operation{Op: "expire", Name: op.Name, Client: op.Client, fence: op.fence, Call: op.end() + 1}
			ops = append(ops, operation(end))
		}
	}
	return ops
}

// registerHistory returns the writes and reads of each register, with the records of its lock. A write with an unknown
// outcome counts as applied if a later operation shows its value; otherwise it may be left out, since it can have been
// applied after the end.
func registerHistory(history []Operation) []porcupine.Operation {
	registers := map[string]map[string]bool{}
	shown := map[string]bool{}
	for _, op := range history {
		if op.Op != "write" && op.Op != "read" {
			continue
		}
		if registers[op.Name] == nil {
			registers[op.Name] = map[string]bool{}
		}
		registers[op.Name][op.Register] = true
		if op.Op == "read" {
			shown[op.To] = true
		}
		if op.From != nil {
			shown[*op.From] = true
		}
	}
	var ops []porcupine.Operation
	for _, op := range history {
		switch {
		case op.Op == "record":
			for register := range registers[op.Name] {
				ofRegister := op
				ofRegister.Register = register
				ops = append(ops, operation(ofRegister))
			}
		case op.Op == "read", op.Op == "write" && (op.Outcome == "ok" || op.Outcome == "refused"):
			ops = append(ops, operation(op))
		case op.Op == "write" && op.To != "" && shown[op.To]:
			ops = append(ops, operation(op))
		}
	}
	return ops
}

func operation(op Operation) porcupine.Operation {
	return porcupine.Operation{Input: op, Call: op.Call, Return: op.end()}
}
