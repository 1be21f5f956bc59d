import { errorText } from '../../media/base/errors.js'
import { readCookie } from '../access/sessions/cookies.js'
import type { Actor } from '../api/actor.js'
import { type Download, RefusedBody } from '../api/content.js'
import type { Deps } from '../api/deps.js'
import type { EventStream } from '../api/event-stream.js'
import type { ErasedInput, Operation } from '../api/operation.js'
import { type ErrorCode, isRefusal } from '../api/problem.js'
import { type FileReply, hasOwnHeaders } from '../api/reply.js'
import { type AdmissionDeps, type Admitted, admit } from './admit.js'
import type { Exchange } from './exchange.js'
import { fingerprint, type IdempotencyStore, isFinalStatus } from './idempotency.js'
import { readInput, type ValidInput } from './read-input.js'
import {
  type RenderedResponse,
  renderRefusal,
  renderResult,
  send,
  sendDownload,
  sendRefusal,
} from './reply.js'
import type { MountedOperation } from './routes.js'
import { type OpenStreams, sendEvents } from './send-events.js'
import { sendFile } from './send-file.js'

/** Dependencies for handling requests. */
export interface HandlerDeps extends AdmissionDeps {
  readonly idempotency: IdempotencyStore
  readonly streams: OpenStreams
}

/**
 * Handles a request: admission, validation, idempotency, the operation, the response. Throws only for
 * internal errors.
 */
export async function handle(
  handling: HandlerDeps,
  mounted: MountedOperation,
  exchange: Exchange,
): Promise<void> {
  const { operation } = mounted
  const admitted = await admit(handling, operation, exchange)
  if (isRefusal(admitted)) return sendRefusal(exchange, admitted)
  try {
    await answer(handling, mounted, admitted, exchange)
  } catch (thrown) {
    await admitted.signature?.release().catch((error: unknown) => {
      const fields = { requestId: exchange.requestId, error: errorText(error) }
      handling.deps.log.warn(fields, 'signature.release_failed')
    })
    throw thrown
  }
}

/**
 * Runs the operation. A signature is used up only by a successful request, so that the sender may repeat a
 * failed one.
 */
async function answer(
  handling: HandlerDeps,
  mounted: MountedOperation,
  admitted: Admitted,
  exchange: Exchange,
): Promise<void> {
  const { operation } = mounted
  const valid = await readInput(handling.deps, mounted, admitted, exchange)
  if (isRefusal(valid)) {
    await admitted.signature?.release()
    return sendRefusal(exchange, valid)
  }
  try {
    await runAndSend(handling, operation, admitted, valid, exchange)
  } finally {
    valid.upload?.close()
  }
}

async function runAndSend(
  handling: HandlerDeps,
  operation: Operation,
  { actor, signature }: Admitted,
  valid: ValidInput,
  exchange: Exchange,
): Promise<void> {
  const input = inputOf(handling.deps, actor, valid, exchange)
  if (valid.idempotencyKey !== null && (actor?.kind === 'key' || actor?.kind === 'session')) {
    return runOnce(handling, operation, actor, { ...valid, key: valid.idempotencyKey }, input, exchange)
  }
  const outcome = await run(operation, valid, input)
  // The constructor of the operation guarantees the type of its outcome.
  if (operation.reply === 'file' && !isRefusal(outcome)) return sendFile(exchange, outcome as FileReply)
  if (operation.reply === 'download' && !isRefusal(outcome)) {
    return sendDownload(exchange, operation.contentType, outcome as Download)
  }
  if (operation.reply === 'events' && !isRefusal(outcome)) {
    const { clock } = handling.deps
    const admitted = async (): Promise<boolean> => !isRefusal(await admit(handling, operation, exchange))
    return sendEvents(exchange, operation, outcome as EventStream, { ...handling, clock, admitted })
  }
  const rendered = render(handling, operation, outcome, valid, exchange)
  // Released before the response is sent, because the sender may repeat the request immediately.
  if (rendered.status > 299) await signature?.release()
  send(exchange, rendered)
}

/** Runs the handler. A body that turns out to be unacceptable while the handler reads it is a refusal. */
async function run(operation: Operation, { upload }: ValidInput, input: ErasedInput): Promise<unknown> {
  try {
    return await operation.run(input)
  } catch (thrown) {
    // The handler may have wrapped the error of the body.
    for (const cause of [thrown, upload?.content.errored]) {
      if (cause instanceof RefusedBody) return cause.refusal
    }
    throw thrown
  }
}

/** Runs the operation at most once per idempotency key and returns the stored response for repetitions. */
async function runOnce(
  handling: HandlerDeps,
  operation: Operation,
  actor: Actor,
  valid: ValidInput & { readonly key: string },
  input: ErasedInput,
  exchange: Exchange,
): Promise<void> {
  const { idempotency, deps } = handling
  const claim = await idempotency.claim({
    organizationId: actor.organizationId,
    environment: actor.environment,
    method: operation.method,
    path: exchange.request.path,
    key: valid.key,
    fingerprint: fingerprint(valid.rawBody),
  })
  if (isRefusal(claim)) return sendRefusal(exchange, claim)
  if (claim.kind === 'replay') {
    return send(exchange, { ...claim.response, headers: { 'idempotency-replayed': 'true' } })
  }
  let rendered: RenderedResponse
  try {
    const outcome = await run(operation, valid, { ...input, idempotencyId: claim.id })
    rendered = render(handling, operation, outcome, valid, exchange)
  } catch (thrown) {
    await idempotency.release(claim).catch((error: unknown) => {
      // The lease of the key expires later. Report the original error.
      deps.log.warn(
        { requestId: exchange.requestId, error: errorText(error) },
        'idempotency_key.release_failed',
      )
    })
    throw thrown
  }
  if (isFinalStatus(rendered.status)) await idempotency.finish(claim, rendered)
  else await idempotency.release(claim)
  send(exchange, rendered)
}

function render(
  handling: HandlerDeps,
  operation: Operation,
  outcome: unknown,
  valid: ValidInput,
  exchange: Exchange,
): RenderedResponse {
  const { rootKey, log } = handling.deps
  if (!isRefusal(outcome)) {
    const plain = { value: outcome, headers: {}, warnings: [], existed: false }
    const { value, headers, warnings, existed } = hasOwnHeaders(outcome) ? outcome : plain
    const { cursorScope } = valid
    const rendered = renderResult(operation, value, { rootKey, cursorScope, html: exchange.html, warnings })
    const status = existed && operation.mayExist ? 200 : rendered.status
    return { ...rendered, status, headers: { ...rendered.headers, ...headers } }
  }
  const expected = [...operation.fails, ...COMMON, ...(operation.upload === null ? [] : UPLOAD_CODES)]
  if (!expected.includes(outcome.code)) {
    log.error({ operation: operation.id, code: outcome.code }, 'operation.undeclared_error')
  }
  return renderRefusal(outcome, exchange)
}

/** Error codes that every operation may return without declaring them. */
const COMMON: readonly ErrorCode[] = ['not_found', 'validation_error', 'internal_error']
/** Error codes of a body that is read while the handler runs. */
const UPLOAD_CODES: readonly ErrorCode[] = ['bad_request', 'document_too_large']

function inputOf(deps: Deps, actor: Admitted['actor'], valid: ValidInput, exchange: Exchange): ErasedInput {
  return {
    params: valid.params,
    query: valid.query,
    body: valid.body,
    actor,
    deps,
    requestId: exchange.requestId,
    idempotencyId: null,
    page: valid.page,
    lastEventId: exchange.request.header('last-event-id') ?? null,
    cookie: (name) => readCookie(exchange.request.header('cookie'), name),
  }
}
