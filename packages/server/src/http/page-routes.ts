/**
 * The web application. Every page has the same document, whose script reads the address. Names of scripts and styles change with their
 * content, so browsers cache them permanently.
 */

import { CodedError } from '@sluice/base/errors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseEncodingWeights } from './negotiate-encoding.ts';
import { isKnownPath, type RouteRow } from './request-checks.ts';
import { type AssetEncoding, readWebAssets, type WebAsset } from './web-assets.ts';

const page = { method: 'GET', isOpen: true } as const;
const assetUrl = '/assets/:file';

/** The pages contain no data and need no key. Their scripts request data with the key that the user enters. */
export const PAGE_ROUTES: readonly RouteRow[] = [
  { ...page, url: '/' },
  { ...page, url: '/live/:name' },
  { ...page, url: '/activity/:name' },
  { ...page, url: '/workbench/:name' },
  { ...page, url: '/block/:name/:slot' },
  { ...page, url: '/transaction/:name/:signature' },
  { ...page, url: '/account/:name/:address' },
  { ...page, url: '/program/:name/:address' },
  { ...page, url: '/docs' },
  { ...page, url: '/docs/:page' },
  { ...page, url: '/docs/:folder/:page' },
  { ...page, url: assetUrl },
];

/** Scripts, styles and data are loaded only from this service, and no other page can frame it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The browser revalidates the page at each visit, so that a new version appears. */
const pageCaching = 'no-cache';
const assetCaching = 'public, max-age=31536000, immutable';

export class WebPages {
  readonly #assets = readWebAssets();

  addRoutes(app: FastifyInstance): void {
    for (const { url } of PAGE_ROUTES) {
      if (url !== assetUrl) app.get(url, (request, reply) => this.#sendPage(request, reply));
    }
    app.get<{ Params: { readonly file: string } }>(assetUrl, (request, reply) => {
      const asset = this.#assets.files.get(request.params.file);
      if (asset === undefined) throw new CodedError('path-unknown');
      reply.header('cache-control', assetCaching);
      return sendAsset(asset, request, reply);
    });
  }

  /**
   * Returns whether a browser requests a page at an address that does not exist. Other programs do not accept HTML and get
   * an error as JSON.
   */
  isMissing({ method, url, headers }: FastifyRequest, routes: readonly RouteRow[]): boolean {
    const isPage = method === 'GET' && headers.accept?.includes('text/html') === true;
    return isPage && !isKnownPath(url, routes);
  }

  /** Sends the document with status 404. Its script finds no page for the address and says so. */
  sendMissing(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    return this.#sendPage(request, reply.code(404));
  }

  #sendPage(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.header('content-security-policy', contentSecurityPolicy);
    reply.header('referrer-policy', 'no-referrer');
    reply.header('cache-control', pageCaching);
    return sendAsset(this.#assets.page, request, reply);
  }
}

function sendAsset(asset: WebAsset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('vary', 'Accept-Encoding');
  reply.header('etag', asset.etag);
  const isKept = request.headers['if-none-match'] === asset.etag;
  // A 304 response would hide the status 404 of a missing page.
  if (isKept && reply.statusCode === 200) return reply.code(304).send();
  const [encoding, body] = chooseBody(asset, request.headers['accept-encoding']);
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  reply.header('content-type', asset.type);
  return reply.send(body);
}

function chooseBody(asset: WebAsset, header = ''): readonly [AssetEncoding, Buffer] {
  const weights = parseEncodingWeights(header);
  const accepted = [...asset.bodies].find(
    ([encoding]) => encoding === 'identity' || (weights.get(encoding) ?? 0) > 0,
  );
  return accepted ?? ['identity', Buffer.alloc(0)];
}
