import { errorText } from '../../media/base/errors.js'
import { readCookie } from '../access/sessions/cookies.js'
import { type Download, RefusedBody } from '../api/content.js'
import type { Deps } from '../api/deps.js'
import type { EventStream } from '../api/event-stream.js'
import type { ErasedInput, Operation } from '../api/operation.js'
import { type ErrorCode, isRefusal } from '../api/problem.js'
import { type FileReply, hasOwnHeaders } from '../api/reply.js'
import { type AdmissionDeps, type Admitted, admit } from './admit.js'
import type { Exchange } from './exchange.js'
import type { IdempotencyStore } from './idempotency.js'
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
import { IDEMPOTENCY_CODES, keyScope, runOnce } from './run-once.js'
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
  const paths = { operation: operation.path, request: exchange.request.path }
  const scope = valid.idempotencyKey === null ? null : keyScope(actor, paths)
  if (valid.idempotencyKey !== null && scope !== null) {
    const { rawBody, upload, idempotencyKey: key } = valid
    const { requestId } = exchange
    const keyed = { ...scope, method: operation.method, key, requestId, rawBody, upload }
    const rendered = (outcome: unknown) => render(handling, operation, outcome, valid, exchange)
    const once = await runOnce(handling, keyed, async ({ id: idempotencyId, store }) => {
      const keep: ErasedInput['keep'] = async (trx, answer) => {
        await store(trx, rendered(answer))
        return answer
      }
      return rendered(await run(operation, valid, { ...input, idempotencyId, keep }))
    })
    return isRefusal(once) ? sendRefusal(exchange, once) : send(exchange, once)
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
  const expected = [
    ...operation.fails,
    ...COMMON,
    ...(operation.upload === null ? [] : ['bad_request' as const, operation.upload.tooLarge]),
    ...(operation.idempotent === null ? [] : IDEMPOTENCY_CODES),
  ]
  if (!expected.includes(outcome.code)) {
    log.error({ operation: operation.id, code: outcome.code }, 'operation.undeclared_error')
  }
  return renderRefusal(outcome, exchange)
}

/** Error codes that every operation may return without declaring them. */
const COMMON: readonly ErrorCode[] = ['not_found', 'validation_error', 'internal_error']

function inputOf(deps: Deps, actor: Admitted['actor'], valid: ValidInput, exchange: Exchange): ErasedInput {
  return {
    params: valid.params,
    query: valid.query,
    body: valid.body,
    actor,
    deps,
    requestId: exchange.requestId,
    idempotencyId: null,
    keep: async (_trx, answer) => answer,
    page: valid.page,
    lastEventId: exchange.request.header('last-event-id') ?? null,
    cookie: (name) => readCookie(exchange.request.header('cookie'), name),
  }
}
