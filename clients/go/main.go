// Command buraco-go-bot takes a seat and plays the match with legal moves chosen at random, over PlayTable.
//
// It shows what a client in Go has to do: it resumes its stream behind the last revision it has seen, repeats a move that
// got no answer under the same request id, and decides by the reasons of errors. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"time"

	buracov1 "buraco/clients/go/gen/buraco/v1"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Calls are spread over all replicas that the name of the service resolves to, and gRPC itself repeats single ones.
const serviceConfig = `{"loadBalancingConfig": [{"round_robin": {}}], "methodConfig": [{
	"name": [{"service": "buraco.v1.TableService", "method": "JoinTable"}], "retryPolicy": {"maxAttempts": 5,
	"initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`

// Pauses between two attempts to open the stream again.
const firstPause, maxPause = 50 * time.Millisecond, 2 * time.Second

// bot is one seat's player.
type bot struct {
	tables  buracov1.TableServiceClient
	tableID string
	seen    *uint64              // the newest revision that has come; without one a stream begins with the whole state
	pending *buracov1.PlaySubmit // the move that has no answer yet; a repeat, on any stream, changes nothing more
	scores  []int32              // those of the match once it is over, one a side
}

func main() {
	server := flag.String("server", "dns:///localhost:50051", "the service, plain text")
	tableID := flag.String("table", "", "the table to join")
	name := flag.String("name", "Gopher", "the player's name")
	flag.Parse()
	connection, err := grpc.NewClient(*server,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(serviceConfig))
	if err != nil {
		log.Fatal(err)
	}
	player := &bot{tables: buracov1.NewTableServiceClient(connection), tableID: *tableID}
	joining := &buracov1.JoinTableRequest{TableId: *tableID, PlayerName: *name, RequestId: newID()}
	joined, err := player.tables.JoinTable(context.Background(), joining)
	if err != nil {
		log.Fatal(describe(err))
	}
	log.Printf("seat %d", joined.GetSeat())
	// The token proves the seat from here on.
	seated := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+joined.GetToken())
	if err := player.play(seated); err != nil {
		log.Fatal(describe(err))
	}
	fmt.Printf("scores %v\n", player.scores)
}

// play follows the table until its match is over, on as many streams as that takes.
func (b *bot) play(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		before := b.seen
		err := b.follow(ctx)
		if b.scores != nil || !isPassing(err) {
			return err
		}
		if b.seen != before { // the stream brought something new
			pause = firstPause
		}
		log.Printf("the stream ended (%v), again in %v", describe(err), pause)
		time.Sleep(pause)
	}
}

// follow plays on one stream until the match is over. Before that it returns the error that has ended the stream, or nil
// if it ended in order.
func (b *bot) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := b.tables.PlayTable(ctx)
	if err != nil {
		return err
	}
	// Errors of Send are left to Recv, which returns why the stream has ended.
	_ = stream.Send(&buracov1.PlayTableRequest{Request: &buracov1.PlayTableRequest_Open{
		Open: &buracov1.PlayOpen{TableId: b.tableID, AfterRevision: b.seen, LegalMoves: true}}})
	if b.pending != nil {
		b.submit(stream, b.pending)
	}
	var turn *buracov1.PlayTurn // the newest one that is not answered
	for b.scores == nil {
		update, err := stream.Recv()
		if errors.Is(err, io.EOF) || update.GetReconnect() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case update.GetState() != nil:
			table := update.GetState().GetTable()
			b.note(table.GetRevision(), nil)
			if table.GetState() == buracov1.TableState_TABLE_STATE_FINISHED {
				b.scores = table.GetResult().GetScores()
			}
		case update.GetEvents() != nil:
			b.note(update.GetEvents().GetRevision(), update.GetEvents().GetEvents())
		case update.GetAnswer() != nil:
			if err := b.receive(update.GetAnswer()); err != nil {
				return err
			}
		case update.GetTurn() != nil:
			turn = update.GetTurn()
		}
		if turn != nil && b.pending == nil {
			move, revision := turn.GetMoves()[rand.IntN(len(turn.GetMoves()))], turn.GetRevision()
			b.submit(stream, &buracov1.PlaySubmit{Moves: []*buracov1.Move{move}, Revision: &revision, RequestId: newID()})
			turn = nil
		}
	}
	return nil
}

func (b *bot) submit(stream buracov1.TableService_PlayTableClient, move *buracov1.PlaySubmit) {
	b.pending = move
	_ = stream.Send(&buracov1.PlayTableRequest{Request: &buracov1.PlayTableRequest_Submit{Submit: move}})
}

// receive takes the answer to the pending move. It returns a refusal: if that passes, the next stream repeats the move.
func (b *bot) receive(answer *buracov1.PlayAnswer) error {
	// REVISION_STALE: something else has happened first, and another turn follows if there is one.
	if refusal := answer.GetError(); refusal != nil && refusal.GetReason() != "REVISION_STALE" {
		return status.Error(codes.Code(refusal.GetCode()), refusal.GetReason())
	}
	b.pending = nil
	if accepted := answer.GetAccepted(); accepted != nil {
		b.note(accepted.GetRevision(), accepted.GetEvents())
	}
	return nil
}

func (b *bot) note(revision uint64, events []*buracov1.Event) {
	b.seen = &revision
	for _, event := range events {
		if ended := event.GetMatchEnded(); ended != nil {
			b.scores = ended.GetScores()
		}
	}
}

// isPassing returns whether another stream may go on where one has ended.
func isPassing(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.Unavailable, codes.Canceled, codes.ResourceExhausted, codes.Aborted:
		return true
	default:
		return false
	}
}

// describe returns an error with its reason, such as TABLE_FULL, if it has one.
func describe(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason() + ": " + status.Convert(err).Message()
		}
	}
	return fmt.Sprint(err)
}

func newID() string {
	return fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64())
}
