import { connection } from '../state/connection.ts';

const texts = {
  connecting: ['', 'Connecting'],
  online: ['ok', 'Connected'],
  lost: ['bad', 'Offline'],
  unavailable: ['warn', 'Waiting'],
} as const;

export function ConnectionBadge() {
  const [tone, text] = texts[connection.value.kind];
  return (
    <span class={`badge connection ${tone}`} title={text}>
      <span class="dot" />
      <span class="connection-text">{text}</span>
    </span>
  );
}
