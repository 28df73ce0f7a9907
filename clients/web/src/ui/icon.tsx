/** Signs on buttons, drawn so that no font has to have them. */

const PATHS = {
  back: "M15 5l-7 7 7 7",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  talk: "M4 5h16v11H10l-5 4v-4H4z",
  settings: "M4 8h9m5 0h2M4 16h3m5 0h8M15.5 5.5v5M9.5 13.5v5",
  sort: "M4 8h14l-4-4M20 16H6l4 4",
};

export function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg class="sign" viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
