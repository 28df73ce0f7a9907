// A bot as a program for Node, without packages: it plays a whole turn at once where it can.
//
//     buraco match --bots 'exec:node bots/examples/line_bot.mjs?boldness=2,random'
//
// Each line of standard input and output is a JSON object. Standard error is free for messages.

import { createInterface } from "node:readline";

/** @typedef {{ drawStock?: object, takePile?: object, layMeld?: { cards: string[] }, layOff?: { meld: number, cards: string[] },
 *   moveWild?: object, discard?: { card: string } }} Move */

let boldness = 3; // it takes piles of so many cards, or more

/** @param {string} card such as CARD_TWO_OF_HEARTS */
const isWild = (card) => card === "CARD_JOKER" || card.startsWith("CARD_TWO");

/** @param {{ pileCount: number }} view @param {Move[]} moves
 * @returns {(number | Move)[]} what is played, in this order: indices of `moves`, or moves */
function plan(view, moves) {
  const draws = moves.some((move) => move.drawStock || move.takePile);
  if (draws) {
    const pile = moves.findIndex((move) => move.takePile);
    return [pile >= 0 && view.pileCount >= boldness ? pile : 0];
  }
  const lay = moves.findIndex((move) => move.layMeld || move.layOff);
  if (lay >= 0) return [lay];
  const discard = moves.find((move) => move.discard && !isWild(move.discard.card));
  return [discard ?? moves.length - 1];
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "hello") {
    boldness = message.parameters.boldness ?? boldness;
    console.log(JSON.stringify({ type: "ready" }));
  } else if (message.type === "choose") {
    console.log(JSON.stringify({ moves: plan(message.view, message.moves) }));
  } else if (message.type === "end") {
    break;
  }
}
process.exit(0);
