package main

import (
	"errors"
	"strconv"
	"sync"

	"cirello.io/dynamolock/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

type hold struct {
	client *dynamolock.Client
	lock   *dynamolock.Lock
}

// driver carries out the steps of the line protocol, each by the client's own means.
type driver struct {
	mutex    sync.Mutex
	opened   request
	clients  map[string]*dynamolock.Client
	holds    map[string]hold
	lastHold int
}

func newDriver() *driver {
	return &driver{clients: map[string]*dynamolock.Client{}, holds: map[string]hold{}}
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
	d.clients = map[string]*dynamolock.Client{}
	return object{}, nil
}

// client answers the client for this value of the sort key, which a client has only one of.
func (d *driver) client(step request) (*dynamolock.Client, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	sort := step.text("sort")
	if found := d.clients[sort]; found != nil {
		return found, nil
	}
	opened := d.opened
	var options []dynamolock.ClientOption
	if opened.has("partitionKey") {
		options = append(options, dynamolock.WithPartitionKeyName(opened.text("partitionKey")))
	}
	if opened.has("sortKey") {
		options = append(options, dynamolock.WithSortKey(opened.text("sortKey"), sort))
	}
	if opened.has("owner") {
		options = append(options, dynamolock.WithOwnerName(opened.text("owner")))
	}
	if opened.has("leaseMs") {
		options = append(options, dynamolock.WithLeaseDuration(opened.span("leaseMs")))
	}
	if opened.has("beatMs") {
		options = append(options, dynamolock.WithHeartbeatPeriod(opened.span("beatMs")))
	}
	if opened.has("beats") && !opened.flag("beats") {
		options = append(options, dynamolock.DisableHeartbeat())
	}
	made, err := dynamolock.New(table(opened), opened.text("table"), options...)
	if err != nil {
		return nil, err
	}
	d.clients[sort] = made
	return made, nil
}

func table(opened request) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(opened.text("endpoint")),
		Region:       "local",
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func (d *driver) createTable(step request) (object, error) {
	client, err := d.client(step)
	if err != nil {
		return nil, err
	}
	var options []dynamolock.CreateTableOption
	if d.opened.has("partitionKey") {
		options = append(options, dynamolock.WithCustomPartitionKeyName(d.opened.text("partitionKey")))
	}
	if d.opened.has("sortKey") {
		options = append(options, dynamolock.WithSortKeyName(d.opened.text("sortKey")))
	}
	_, err = client.CreateTable(d.opened.text("table"), options...)
	return object{}, err
}

func acquireOptions(step request, tellDanger func()) ([]dynamolock.AcquireLockOption, error) {
	var options []dynamolock.AcquireLockOption
	if step.has("wait") {
		wait, err := step.wait()
		if err != nil {
			return nil, err
		}
		if wait == nil {
			options = append(options, dynamolock.FailIfLocked())
		} else {
			options = append(options, dynamolock.WithAdditionalTimeToWaitForLock(*wait))
		}
	}
	if step.has("pollMs") {
		options = append(options, dynamolock.WithRefreshPeriod(step.span("pollMs")))
	}
	if step.has("data") {
		options = append(options, dynamolock.WithData([]byte(step.text("data"))))
	}
	if step.flag("replaceData") {
		options = append(options, dynamolock.ReplaceData())
	}
	if step.has("attributes") {
		attributes, err := step.attributes()
		if err != nil {
			return nil, err
		}
		options = append(options, dynamolock.WithAdditionalAttributes(attributes))
	}
	if step.flag("deleteOnRelease") {
		options = append(options, dynamolock.WithDeleteLockOnRelease())
	}
	if step.has("safeMs") {
		options = append(options, dynamolock.WithSessionMonitor(step.span("safeMs"), tellDanger))
	}
	return options, nil
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
	options, err := acquireOptions(step, func() { say(object{"event": "danger", "hold": id}) })
	if err != nil {
		return nil, err
	}
	client, err := d.client(step)
	if err != nil {
		return nil, err
	}
	lock, err := client.AcquireLock(step.text("name"), options...)
	var refusal *dynamolock.LockNotGrantedError
	if errors.As(err, &refusal) {
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
func seen(lock *dynamolock.Lock) object {
	found := object{
		"owner":      lock.OwnerName(),
		"expired":    lock.IsExpired(),
		"attributes": shown(lock.AdditionalAttributes()),
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
	var options []dynamolock.SendHeartbeatOption
	if step.has("data") {
		options = append(options, dynamolock.ReplaceHeartbeatData([]byte(step.text("data"))))
	}
	if step.flag("deleteData") {
		options = append(options, dynamolock.DeleteData())
	}
	if step.has("retries") {
		options = append(options, dynamolock.HeartbeatRetries(read[int](step, "retries"), 0))
	}
	if step.flag("ownerOnly") {
		options = append(options, dynamolock.UnsafeMatchOwnerOnly())
	}
	err = held.client.SendHeartbeat(held.lock, options...)
	var refusal *dynamolock.LockNotGrantedError
	if errors.As(err, &refusal) {
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
	var options []dynamolock.ReleaseLockOption
	if step.has("delete") {
		options = append(options, dynamolock.WithDeleteLock(step.flag("delete")))
	}
	if step.has("data") {
		options = append(options, dynamolock.WithDataAfterRelease([]byte(step.text("data"))))
	}
	released, err := held.client.ReleaseLock(held.lock, options...)
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
	lock, err := client.Get(step.text("name"))
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
		errs = append(errs, client.Close())
	}
	return object{}, errors.Join(errs...)
}
