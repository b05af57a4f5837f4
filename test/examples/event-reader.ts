/** An EventSource like that of browsers: it reads events, and reconnects with the last id when the connection is lost. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

export async function readEvents(
  url: string,
  take: (event: ServerEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let lastId = '';
  while (!signal.aborted) {
    try {
      const headers = lastId === '' ? {} : { 'last-event-id': lastId };
      const response = await fetch(url, { headers, signal });
      let text = '';
      for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        text += piece;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const fields = new Map(
            text
              .slice(0, end)
              .split('\n')
              .map((line) => [line.split(':')[0] ?? '', line.replace(/^[^:]*:? ?/, '')]),
          );
          text = text.slice(end + 2);
          const id = fields.get('id');
          if (id !== undefined) lastId = id;
          const event = fields.get('event');
          if (event !== undefined) take({ event, data: fields.get('data') ?? '' });
        }
      }
    } catch {
      // The relay is stopped, or has broken the connection.
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
