package main

import (
	"errors"
	"strconv"
	"sync"
)

// client is one of either version, for one value of the sort key.
type client interface {
	acquire(step request, tellDanger func()) (lock, error)
	beat(held lock, step request) error
	release(held lock, step request) (bool, error)
	get(name string) (lock, error)
	createTable(opened request) error
	close() error
}

// lock is what both versions say of a lock.
type lock interface {
	OwnerName() string
	IsExpired() bool
	Data() []byte
	shown() object
}

// makers has each version: its module, and how its client is made of what was asked for.
var makers = map[string]struct {
	module string
	open   func(opened request, sort string) (client, error)
}{
	"v1": {"cirello.io/dynamolock", openV1},
	"v2": {"cirello.io/dynamolock/v2", openV2},
}

// refusal is the client's word that the lock is someone else's.
type refusal struct{ error }

type hold struct {
	client client
	lock   lock
}

// driver carries out the steps of the line protocol, each by the client's own means.
type driver struct {
	make     func(opened request, sort string) (client, error)
	mutex    sync.Mutex
	opened   request
	clients  map[string]client
	holds    map[string]hold
	lastHold int
}

func newDriver(make func(opened request, sort string) (client, error)) *driver {
	return &driver{make: make, clients: map[string]client{}, holds: map[string]hold{}}
}

func (d *driver) run(step request) (object, error) {
	switch step.text("step") {
	case "open":
		return d.open(step)
	case "createTable":
		return d.createTable(step)
	case "acquire":
		return d.acquire(step)
	case "beat":
		return d.beat(step)
	case "held":
		return d.held(step)
	case "release":
		return d.release(step)
	case "read":
		return d.read(step)
	case "close":
		return d.close(step)
	case "quit":
		return object{}, nil
	}
	return nil, unsupported{"it has nothing for " + step.text("step")}
}

func (d *driver) open(step request) (object, error) {
	if err := step.allow("endpoint", "table", "partitionKey", "sortKey", "owner", "leaseMs", "beatMs", "beats"); err != nil {
		return nil, err
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.opened = step
	d.clients = map[string]client{}
	return object{}, nil
}

// client answers the client for this value of the sort key, which a client has only one of.
func (d *driver) client(step request) (client, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	sort := step.text("sort")
	if found := d.clients[sort]; found != nil {
		return found, nil
	}
	made, err := d.make(d.opened, sort)
	if err != nil {
		return nil, err
	}
	d.clients[sort] = made
	return made, nil
}

func (d *driver) createTable(step request) (object, error) {
	client, err := d.client(step)
	if err != nil {
		return nil, err
	}
	return object{}, client.createTable(d.opened)
}

func (d *driver) acquire(step request) (object, error) {
	err := step.allow("name", "sort", "wait", "pollMs", "data", "replaceData", "attributes", "deleteOnRelease", "safeMs")
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	d.lastHold++
	id := strconv.Itoa(d.lastHold)
	d.mutex.Unlock()
	client, err := d.client(step)
	if err != nil {
		return nil, err
	}
	lock, err := client.acquire(step, func() { say(object{"event": "danger", "hold": id}) })
	var refused refusal
	if errors.As(err, &refused) {
		return object{"granted": false, "because": err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	d.mutex.Lock()
	d.holds[id] = hold{client, lock}
	d.mutex.Unlock()
	return object{"granted": true, "hold": id, "lock": seen(lock)}, nil
}

// seen is what the client tells of a lock.
func seen(lock lock) object {
	found := object{
		"owner":      lock.OwnerName(),
		"expired":    lock.IsExpired(),
		"attributes": lock.shown(),
	}
	if lock.Data() != nil {
		found["data"] = string(lock.Data())
	}
	return found
}

func (d *driver) hold(step request) (hold, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	found, there := d.holds[step.text("hold")]
	if !there {
		return hold{}, errors.New("there is no such hold")
	}
	return found, nil
}

func (d *driver) beat(step request) (object, error) {
	if err := step.allow("hold", "data", "deleteData", "retries", "ownerOnly"); err != nil {
		return nil, err
	}
	held, err := d.hold(step)
	if err != nil {
		return nil, err
	}
	err = held.client.beat(held.lock, step)
	var refused refusal
	if errors.As(err, &refused) {
		return object{"renewed": false, "because": err.Error()}, nil
	}
	return object{"renewed": true}, err
}

func (d *driver) held(step request) (object, error) {
	held, err := d.hold(step)
	if err != nil {
		return nil, err
	}
	return object{"held": !held.lock.IsExpired()}, nil
}

func (d *driver) release(step request) (object, error) {
	if err := step.allow("hold", "delete", "data"); err != nil {
		return nil, err
	}
	held, err := d.hold(step)
	if err != nil {
		return nil, err
	}
	released, err := held.client.release(held.lock, step)
	// It answers false together with an error, whatever went wrong; a refused condition alone says "not mine".
	if err != nil && kindOf(err) != "ConditionalCheckFailedException" {
		return nil, err
	}
	return object{"released": released}, nil
}

func (d *driver) read(step request) (object, error) {
	if err := step.allow("name", "sort"); err != nil {
		return nil, err
	}
	client, err := d.client(step)
	if err != nil {
		return nil, err
	}
	lock, err := client.get(step.text("name"))
	if err != nil {
		return nil, err
	}
	// For a missing record the client answers with a lock that has nothing in it.
	if lock.OwnerName() == "" {
		return object{"lock": nil}, nil
	}
	return object{"lock": seen(lock)}, nil
}

func (d *driver) close(step request) (object, error) {
	d.mutex.Lock()
	clients := d.clients
	d.mutex.Unlock()
	var errs []error
	for _, client := range clients {
		errs = append(errs, client.close())
	}
	return object{}, errors.Join(errs...)
}
