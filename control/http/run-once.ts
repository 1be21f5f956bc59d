import { errorText } from '../../media/base/errors.js'
import { RefusedBody } from '../api/content.js'
import type { Deps } from '../api/deps.js'
import { type ErrorCode, isRefusal, type Refusal } from '../api/problem.js'
import type { Json } from '../base/canonical-json.js'
import type { Trx } from '../db/database.js'
import type { Admitted } from './admit.js'
import {
  type Attempt,
  fingerprintInTurns,
  type IdempotencyStore,
  type IdempotentRequest,
  isFinalStatus,
  KEY_IN_USE,
  LOCK_MS,
  OTHER_BODY,
} from './idempotency.js'
import type { RenderedResponse } from './reply.js'
import type { OpenUpload } from './upload.js'

/** Error codes that every operation with an idempotency key may return. */
export const IDEMPOTENCY_CODES: readonly ErrorCode[] = [OTHER_BODY.code, KEY_IN_USE.code]

/** Time between two renewals of the lock (ms). Two of them may fail. */
const RENEW_MS = LOCK_MS / 3

/** A request with an idempotency key. */
export interface KeyedRequest extends Omit<IdempotentRequest, 'fingerprint'> {
  readonly requestId: string
  /** Body as parsed JSON. Null for an upload. */
  readonly rawBody: Json
  readonly upload: OpenUpload | null
}

/**
 * Returns the part of a request's identity that its caller decides: organization, environment and path. Null for a
 * caller without organization. The path of a signed address is replaced by its subject, because its token is a
 * credential. What belongs to an organization as a whole counts as live.
 */
export function keyScope(
  actor: Admitted['actor'],
  paths: { readonly operation: string; readonly request: string },
): Pick<IdempotentRequest, 'organizationId' | 'environment' | 'path'> | null {
  switch (actor?.kind) {
    case 'key':
    case 'session': {
      const { organizationId, environment } = actor
      return { organizationId, environment, path: paths.request }
    }
    case 'address': {
      const { organizationId, subject } = actor
      const path = `${paths.operation} ${subject}`
      return organizationId === undefined ? null : { organizationId, environment: 'live', path }
    }
    default:
      return null
  }
}

/** The key of a request as a run of the operation sees it. */
export interface Once {
  /** The same for every attempt of the same request. */
  readonly id: string
  /** Stores the response in the transaction of the change. Rejects with `RefusedBody` if a later attempt has taken over. */
  store(trx: Trx, rendered: RenderedResponse): Promise<void>
}

/**
 * Runs an operation at most once per idempotency key. Returns its response, the stored one for a repetition, or a
 * refusal. The body of an upload is compared when it has arrived: one that differs ends the handler like one that breaks
 * off, so that nothing of it is stored. Throws what `run` throws.
 */
export async function runOnce(
  { idempotency, deps }: { readonly idempotency: IdempotencyStore; readonly deps: Deps },
  request: KeyedRequest,
  run: (once: Once) => Promise<RenderedResponse>,
): Promise<RenderedResponse | Refusal> {
  const { requestId, rawBody, upload, ...scope } = request
  const body = upload?.digest ?? null
  const claim = await idempotency.claim({
    ...scope,
    fingerprint: body === null ? await fingerprintInTurns(rawBody) : null,
  })
  if (isRefusal(claim)) return claim
  if (body !== null && claim.fingerprint !== null) body.expect(claim.fingerprint, OTHER_BODY)
  if (claim.kind === 'replay') {
    const refused = await body?.readRest().catch(refusalOf)
    return refused ?? { ...claim.response, headers: { 'idempotency-replayed': 'true' } }
  }
  const stopRenewing = upload === null ? () => {} : renewWhileReading(idempotency, claim, upload, deps)
  const attempt = (): Attempt => ({ ...claim, fingerprint: claim.fingerprint ?? body?.value() ?? null })
  let rendered: RenderedResponse
  let whole: boolean
  try {
    rendered = await run({
      id: claim.id,
      async store(trx, response) {
        if (!(await idempotency.finish(attempt(), response, trx))) throw new RefusedBody(KEY_IN_USE)
      },
    })
    if (isFinalStatus(rendered.status)) await body?.readRest()
    // A refusal that needed a part of the body only cannot be compared with a repetition.
    whole = body === null || body.value() !== null
  } catch (thrown) {
    await idempotency.release(attempt()).catch((error: unknown) => {
      // The lease of the key expires later. Report the original error.
      deps.log.warn({ requestId, error: errorText(error) }, 'idempotency_key.release_failed')
    })
    return refusalOf(thrown)
  } finally {
    stopRenewing()
  }
  const { status } = rendered
  // A client that is told to come back gets another answer then.
  const isFinal = isFinalStatus(status) && rendered.headers['retry-after'] === undefined
  const storing: Promise<unknown> =
    isFinal && (whole || status < 300)
      ? idempotency.finish(attempt(), rendered)
      : idempotency.release(attempt())
  await storing.catch((error: unknown) => {
    // The effect is committed, so the client gets the answer. The key stays locked until its lease expires.
    deps.log.warn({ requestId, error: errorText(error) }, 'idempotency_key.store_failed')
  })
  return rendered
}

/** Returns the refusal of a body. Throws any other error again. */
function refusalOf(thrown: unknown): Refusal {
  if (thrown instanceof RefusedBody) return thrown.refusal
  throw thrown
}

/** Keeps the lock as long as the upload takes. Ends the upload when another attempt has the lock. */
function renewWhileReading(
  idempotency: IdempotencyStore,
  attempt: Attempt,
  { content }: OpenUpload,
  { clock, log }: Deps,
): () => void {
  let ended = false
  const renew = async (): Promise<void> => {
    const held = await idempotency.renew(attempt).catch((error: unknown) => {
      log.warn({ error: errorText(error) }, 'idempotency_key.renew_failed')
      return true
    })
    if (ended) return
    if (held) timer = clock.after(RENEW_MS, renew)
    else content.destroy(new RefusedBody(KEY_IN_USE))
  }
  let timer = clock.after(RENEW_MS, renew)
  return () => {
    ended = true
    timer.cancel()
  }
}
