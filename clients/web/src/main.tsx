import { render } from "preact";
import { dropEndedPlayer, takeHostToken } from "./net/player";
import "./styles/base.css";
import "./styles/cards.css";
import "./styles/lobby.css";
import "./styles/table.css";
import { App } from "./ui/app";

takeHostToken();
dropEndedPlayer();
const place = document.getElementById("app");
if (place) render(<App />, place);
