package main

import (
	"errors"

	"cirello.io/dynamolock"
	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/credentials"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/dynamodb"
)

type clientV1 struct{ *dynamolock.Client }

type lockV1 struct{ *dynamolock.Lock }

func openV1(opened request, _ string) (client, error) {
	if opened.has("sortKey") {
		return nil, unsupported{"no option for sortKey"}
	}
	var options []dynamolock.ClientOption
	if opened.has("partitionKey") {
		options = append(options, dynamolock.WithPartitionKeyName(opened.text("partitionKey")))
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
	config := session.Must(session.NewSession(&aws.Config{
		Endpoint:    aws.String(opened.text("endpoint")),
		Region:      aws.String("local"),
		Credentials: credentials.NewStaticCredentials("local", "local", ""),
	}))
	made, err := dynamolock.New(dynamodb.New(config), opened.text("table"), options...)
	return clientV1{made}, err
}

func refusedV1(err error) error {
	var refused *dynamolock.LockNotGrantedError
	if errors.As(err, &refused) {
		return refusal{err}
	}
	return err
}

func acquireOptionsV1(step request, tellDanger func()) ([]dynamolock.AcquireLockOption, error) {
	var options []dynamolock.AcquireLockOption
	if step.has("sort") {
		return nil, unsupported{"no option for sort"}
	}
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
		found, err := attributes(step,
			func(text string) *dynamodb.AttributeValue { return &dynamodb.AttributeValue{S: &text} },
			func(number string) *dynamodb.AttributeValue { return &dynamodb.AttributeValue{N: &number} },
			func(flag bool) *dynamodb.AttributeValue { return &dynamodb.AttributeValue{BOOL: &flag} })
		if err != nil {
			return nil, err
		}
		options = append(options, dynamolock.WithAdditionalAttributes(found))
	}
	if step.flag("deleteOnRelease") {
		options = append(options, dynamolock.WithDeleteLockOnRelease())
	}
	if step.has("safeMs") {
		options = append(options, dynamolock.WithSessionMonitor(step.span("safeMs"), tellDanger))
	}
	return options, nil
}

func (c clientV1) acquire(step request, tellDanger func()) (lock, error) {
	options, err := acquireOptionsV1(step, tellDanger)
	if err != nil {
		return nil, err
	}
	found, err := c.AcquireLock(step.text("name"), options...)
	return lockV1{found}, refusedV1(err)
}

func (c clientV1) beat(held lock, step request) error {
	var options []dynamolock.SendHeartbeatOption
	for _, name := range []string{"retries", "ownerOnly"} {
		if step.has(name) {
			return unsupported{"no option for " + name}
		}
	}
	if step.has("data") {
		options = append(options, dynamolock.ReplaceHeartbeatData([]byte(step.text("data"))))
	}
	if step.flag("deleteData") {
		options = append(options, dynamolock.DeleteData())
	}
	return refusedV1(c.SendHeartbeat(held.(lockV1).Lock, options...))
}

func (c clientV1) release(held lock, step request) (bool, error) {
	var options []dynamolock.ReleaseLockOption
	if step.has("delete") {
		options = append(options, dynamolock.WithDeleteLock(step.flag("delete")))
	}
	if step.has("data") {
		options = append(options, dynamolock.WithDataAfterRelease([]byte(step.text("data"))))
	}
	return c.ReleaseLock(held.(lockV1).Lock, options...)
}

func (c clientV1) get(name string) (lock, error) {
	found, err := c.Get(name)
	return lockV1{found}, err
}

func (c clientV1) createTable(opened request) error {
	var options []dynamolock.CreateTableOption
	if opened.has("partitionKey") {
		options = append(options, dynamolock.WithCustomPartitionKeyName(opened.text("partitionKey")))
	}
	_, err := c.CreateTable(opened.text("table"), options...)
	return err
}

func (c clientV1) close() error { return c.Close() }

func (l lockV1) shown() object {
	found := object{}
	for name, value := range l.AdditionalAttributes() {
		switch {
		case value.S != nil:
			found[name] = object{"S": *value.S}
		case value.N != nil:
			found[name] = object{"N": *value.N}
		case value.BOOL != nil:
			found[name] = object{"BOOL": *value.BOOL}
		default:
			found[name] = object{"type": value.String()}
		}
	}
	return found
}
