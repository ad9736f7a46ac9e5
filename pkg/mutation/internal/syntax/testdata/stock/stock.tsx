import React from 'react';

type Props = { names: string[]; onPick: (name: string) => void };

export function List({ names, onPick }: Props) {
  const [open, setOpen] = React.useState(false);
  const shown = open ? names : names.slice(0, 3);
  return (
    <ul className="list">
      {shown.map((name) => (
        <li key={name} onClick={() => onPick(name)}>
          pick {name}
        </li>
      ))}
      <button onClick={() => setOpen(!open)}>more</button>
    </ul>
  );
}
