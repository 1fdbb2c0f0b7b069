package main

import (
	"fmt"
	"strings"
)

// sound is a short history that the rules allow: two clients, a release, a takeover after a pause, a guarded write of
// the former holder that is refused, and a write with an unknown outcome that was applied.
func sound() []Operation {
	at := func(end int64) *int64 { return &end }
	from := func(value string) *string { return &value }
	history := []Operation{
		{Op: "acquire", Client: "p1", Call: 0, Return: at(5), Fence: "1"},
		{Op: "record", Client: "p1", Call: 2, Return: at(3), Fence: "1"},
		{Op: "held", Client: "p1", Call: 6, Return: at(7), Fence: "1"},
		{Op: "write", Client: "p1", Call: 8, Return: at(11), Fence: "1", From: from(""), To: "x"},
		{Op: "release", Client: "p1", Call: 12, Return: at(17), Fence: "1"},
		{Op: "acquire", Client: "p2", Call: 10, Return: at(19), Fence: "2"},
		{Op: "record", Client: "p2", Call: 14, Return: at(15), Fence: "2"},
		{Op: "held", Client: "p2", Call: 20, Return: at(21), Fence: "2"},
		{Op: "write", Client: "p2", Call: 22, Outcome: "unknown", Fence: "2", From: from("x"), To: "y"},
		{Op: "held", Client: "p2", Call: 26, Return: at(27), Fence: "2"},
		{Op: "acquire", Client: "p1", Call: 20, Return: at(41), Fence: "5"},
		{Op: "record", Client: "p1", Call: 36, Return: at(37), Fence: "5"},
		{Op: "write", Client: "p2", Call: 42, Return: at(45), Outcome: "refused", Fence: "2"},
		{Op: "lost", Client: "p2", Call: 28, Return: at(47), Fence: "2"},
		{Op: "write", Client: "p1", Call: 48, Return: at(49), Fence: "5", From: from("y"), To: "z"},
		{Op: "held", Client: "p1", Call: 50, Return: at(51), Fence: "5"},
		{Op: "read", Client: "end", Call: 60, Return: at(61), To: "z"},
	}
	for i := range history {
		history[i].Name, history[i].Register = "a", "r"
		if history[i].Outcome == "" {
			history[i].Outcome = "ok"
		}
		if err := history[i].parse(); err != nil {
			panic(err)
		}
	}
	return history
}

// broken is one change of the sound history after which no order of the operations keeps the rules.
type broken struct {
	reason string
	model  string
	change func([]Operation) []Operation
}

func and(more Operation) func([]Operation) []Operation {
	return func(history []Operation) []Operation {
		more.Name, more.Register = "a", "r"
		if more.Outcome == "" {
			more.Outcome = "ok"
		}
		if err := more.parse(); err != nil {
			panic(err)
		}
		return append(history, more)
	}
}

func edit(i int, change func(*Operation)) func([]Operation) []Operation {
	return func(history []Operation) []Operation {
		change(&history[i])
		if err := history[i].parse(); err != nil {
			panic(err)
		}
		return history
	}
}

func span(call, end int64) (int64, *int64) { return call, &end }

func brokenHistories() []broken {
	value := func(text string) *string { return &text }
	one := func(op Operation, call, end int64) Operation {
		op.Call, op.Return = span(call, end)
		return op
	}
	return []broken{
		{"p2 acquires the lock while p1, which has not released it, still finds it held", "lock",
			and(one(Operation{Op: "held", Client: "p1", Fence: "1"}, 22, 23))},
		{"the same fence is handed out twice", "lock",
			and(one(Operation{Op: "acquire", Client: "p3", Fence: "5"}, 52, 53))},
		{"a later acquisition gets a lower fence", "lock",
			and(one(Operation{Op: "acquire", Client: "p3", Fence: "4"}, 52, 53))},
		{"p2 finds its lease held after it reported the loss", "lock",
			and(one(Operation{Op: "held", Client: "p2", Fence: "2"}, 50, 51))},
		{"p1 finds its lease held after the release", "lock",
			and(one(Operation{Op: "held", Client: "p1", Fence: "1"}, 18, 19))},
		{"p2 finds its lease held after the table had granted the lock to p1", "lock",
			edit(9, func(op *Operation) { op.Call, op.Return = span(38, 39) })},
		{"the fence of the record goes back", "lock and register",
			and(one(Operation{Op: "record", Client: "p3", Fence: "2"}, 54, 55))},
		{"a guarded write of the former holder is applied after the next grant", "register",
			edit(12, func(op *Operation) { op.Outcome, op.From, op.To = "ok", value("z"), "w" })},
		{"an acknowledged write is lost: another write replaces the value before it", "register",
			edit(14, func(op *Operation) { op.From = value("") })},
		{"the last read returns a value that a later acknowledged write replaced", "register",
			edit(16, func(op *Operation) { op.To = "y" })},
	}
}

// judgeBroken checks that the models accept the sound history, and that the stated model refuses each broken one.
func judgeBroken() bool {
	isGood := true
	if against := verdict(sound()); len(against) > 0 {
		fmt.Println("FAILED  the sound history is refused by", against)
		isGood = false
	}
	for _, one := range brokenHistories() {
		against := verdict(one.change(sound()))
		if strings.Join(against, " and ") != one.model {
			fmt.Printf("FAILED  to be refused by the %s; refused by %v: %s\n", one.model, against, one.reason)
			isGood = false
			continue
		}
		fmt.Printf("refused by the %s: %s\n", one.model, one.reason)
	}
	return isGood
}
