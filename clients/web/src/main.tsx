import { render } from "preact";
import { languageFor, loadTexts } from "./game/texts";
import { keptPreferences } from "./net/keep";
import { dropEndedPlayer, takeHostToken } from "./net/player";
import "./styles/base.css";
import "./styles/cards.css";
import "./styles/lobby.css";
import "./styles/table.css";
import { App } from "./ui/app";

takeHostToken();
dropEndedPlayer();
const { language } = keptPreferences();
void loadTexts(languageFor(language)).then((texts) => {
  render(<App first={texts} />, document.getElementById("app")!);
});
