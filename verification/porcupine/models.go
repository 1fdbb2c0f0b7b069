package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// lockState is a lock with fences: the highest fence of the record, the fence whose holder believes in its lease, or 0,
// and whether a client has received the highest fence.
type lockState struct {
	highest  int64
	holder   int64
	received bool
}

// lock: an acquisition returns a fence that no client has received, at least as high as the record's, while no other
// client believes; a record with a higher fence requires that the holder's belief has ended; only the holder finds its
// lease held.
var lock = porcupine.Model{
	Partition: partition(func(op Operation) string { return op.Name }),
	Init:      func() interface{} { return lockState{} },
	Step: func(before, input, _ interface{}) (bool, interface{}) {
		state, op := before.(lockState), input.(Operation)
		switch op.Op {
		case "record":
			if op.fence > state.highest {
				return state.holder == 0, lockState{highest: op.fence}
			}
			return op.fence == state.highest, state
		case "acquire":
			isNew := op.fence > state.highest || op.fence == state.highest && !state.received
			return isNew && state.holder == 0, lockState{op.fence, op.fence, true}
		case "held":
			return state.holder == op.fence, state
		case "release", "lost", "expire":
			// A lease can be released and then lost, while the answer to the release is on its way.
			if state.holder == op.fence {
				state.holder = 0
			}
			return state.highest >= op.fence, state
		}
		return false, state
	},
	DescribeOperation: func(input, _ interface{}) string { return describe(input.(Operation)) },
}

// registerState is a register behind condition(): the highest fence that the lock's record is known to have had, and
// the register's value.
type registerState struct {
	highest int64
	value   string
}

// register: a write on condition of a lease is applied only while its fence is the highest, and replaces exactly the
// value that its history says; a read returns the value.
var register = porcupine.Model{
	Partition: partition(func(op Operation) string { return op.Name + "\x00" + op.Register }),
	Init:      func() interface{} { return registerState{} },
	Step: func(before, input, _ interface{}) (bool, interface{}) {
		state, op := before.(registerState), input.(Operation)
		if op.Outcome == "refused" {
			// A released lock refuses, too, and so does a conflict of two transactions.
			return true, state
		}
		if op.Op == "read" {
			return state.value == op.To, state
		}
		if op.Fence != "" {
			if op.fence < state.highest {
				return false, state
			}
			state.highest = op.fence
		}
		if op.Op == "write" && op.To != "" {
			if op.From != nil && *op.From != state.value {
				return false, state
			}
			state.value = op.To
		}
		return true, state
	},
	DescribeOperation: func(input, _ interface{}) string { return describe(input.(Operation)) },
}

func describe(op Operation) string {
	return fmt.Sprintf("%s %s %q fence %s %q (%s)", op.Client, op.Op, op.Name, op.Fence, op.To, op.Outcome)
}

func partition(keyOf func(Operation) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := keyOf(op.Input.(Operation))
			parts[key] = append(parts[key], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, part)
		}
		return all
	}
}
