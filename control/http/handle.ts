import { errorText } from '../../media/base/errors.js'
import type { Deps } from '../api/deps.js'
import {
  type Actor,
  type AnyActor,
  type ErasedInput,
  type FileReply,
  hasOwnHeaders,
  type Operation,
} from '../api/operation.js'
import { type ErrorCode, isRefusal } from '../api/problem.js'
import { type AdmissionDeps, type Admitted, admit } from './admit.js'
import type { Exchange } from './exchange.js'
import { fingerprint, type IdempotencyStore, isFinalStatus } from './idempotency.js'
import { readInput, type ValidInput } from './read-input.js'
import { type RenderedResponse, renderRefusal, renderResult, send, sendFile, sendRefusal } from './reply.js'
import type { MountedOperation } from './routes.js'

/** What answering any request takes. */
export interface HandlerDeps extends AdmissionDeps {
  readonly idempotency: IdempotencyStore
}

/** Answers one request in the order of decisions 2.1. Throws only what is a fault of the service. */
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
  } catch (fault) {
    await admitted.signature?.release().catch((error: unknown) => {
      const fields = { requestId: exchange.requestId, error: errorText(error) }
      handling.deps.log.warn(fields, 'signature of a failed request not freed')
    })
    throw fault
  }
}

/** Only what succeeds uses a signature up: the sender may repeat everything else. */
async function answer(
  handling: HandlerDeps,
  mounted: MountedOperation,
  admitted: Admitted,
  exchange: Exchange,
): Promise<void> {
  const { operation } = mounted
  const { deps } = handling
  const { actor } = admitted
  const checked = await readInput(deps, mounted, admitted, exchange)
  if (isRefusal(checked)) {
    await admitted.signature?.release()
    return sendRefusal(exchange, checked)
  }
  const input = inputOf(deps, actor, checked, exchange)

  if (checked.idempotencyKey !== null && (actor?.kind === 'key' || actor?.kind === 'session')) {
    return once(handling, operation, actor, { ...checked, key: checked.idempotencyKey }, input, exchange)
  }
  const outcome = await operation.run(input)
  if (operation.reply !== 'file' || isRefusal(outcome)) {
    const rendered = render(handling, operation, outcome, checked, exchange)
    // Before the answer: the sender may repeat the request as soon as it has it.
    if (rendered.status > 299) await admitted.signature?.release()
    return send(exchange, rendered)
  }
  // `fileOperation` types the handler's result.
  return sendFile(exchange, outcome as FileReply)
}

/** Runs the operation at most once per idempotency key, and answers repetitions alike. */
async function once(
  handling: HandlerDeps,
  operation: Operation,
  actor: Actor,
  checked: ValidInput & { readonly key: string },
  input: ErasedInput,
  exchange: Exchange,
): Promise<void> {
  const { idempotency, deps } = handling
  const claim = await idempotency.claim({
    organizationId: actor.organizationId,
    environment: actor.environment,
    method: operation.method,
    path: exchange.request.path,
    key: checked.key,
    fingerprint: fingerprint(checked.rawBody),
  })
  if (isRefusal(claim)) return sendRefusal(exchange, claim)
  if (claim.kind === 'replay') {
    return send(exchange, { ...claim.response, headers: { 'idempotency-replayed': 'true' } })
  }
  let rendered: RenderedResponse
  try {
    const outcome = await operation.run({ ...input, idempotencyId: claim.id })
    rendered = render(handling, operation, outcome, checked, exchange)
  } catch (fault) {
    await idempotency.release(claim).catch((error: unknown) => {
      // Its lease frees it later; the fault itself is what must be reported.
      deps.log.warn({ requestId: exchange.requestId, error: errorText(error) }, 'idempotency key not freed')
    })
    throw fault
  }
  if (isFinalStatus(rendered.status)) await idempotency.finish(claim, rendered)
  else await idempotency.release(claim)
  send(exchange, rendered)
}

function render(
  handling: HandlerDeps,
  operation: Operation,
  outcome: unknown,
  checked: ValidInput,
  exchange: Exchange,
): RenderedResponse {
  const { rootKey, log } = handling.deps
  if (hasOwnHeaders(outcome)) {
    const rendered = renderResult(rootKey, operation, outcome.value, checked.cursorScope)
    return { ...rendered, headers: { ...rendered.headers, ...outcome.headers } }
  }
  if (!isRefusal(outcome)) return renderResult(rootKey, operation, outcome, checked.cursorScope)
  if (!operation.fails.includes(outcome.code) && !COMMON.includes(outcome.code)) {
    log.error({ operation: operation.id, code: outcome.code }, 'an operation failed in an undeclared way')
  }
  return renderRefusal(outcome, exchange.docsUrl, exchange.requestId)
}

/** What any operation may answer without declaring it. */
const COMMON: readonly ErrorCode[] = ['not_found', 'validation_error', 'internal_error']

function inputOf(deps: Deps, actor: AnyActor | null, checked: ValidInput, exchange: Exchange): ErasedInput {
  return {
    params: checked.params,
    query: checked.query,
    body: checked.body,
    actor,
    deps,
    requestId: exchange.requestId,
    idempotencyId: null,
    page: checked.page,
  }
}
