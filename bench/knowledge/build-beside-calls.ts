import { systemClock } from '../../media/base/clock.js'
import { load, type OtherWork } from '../agent/agent-load.js'
import { figure, type Measured, part } from '../lib/figures.js'
import type { Probe } from '../lib/host-probe.js'
import { rounded } from '../lib/statistics.js'
import { benchDocument, DOCUMENTS } from './bench-documents.js'

const CALLS = 20
const HOLD_MS = 60_000
const POLL_MS = 500

interface Reply {
  readonly data: Readonly<Record<string, unknown>>
}

/** A build, after the upload of its documents. */
class Build implements OtherWork {
  #path = ''
  seconds = Number.NaN
  chunks = 0

  async prepare(service: Parameters<OtherWork['prepare']>[0]): Promise<void> {
    const { data } = (await service.api('POST', '/v1/knowledge-bases', { name: 'Bench' })) as Reply
    this.#path = `/v1/knowledge-bases/${String(data.id)}`
    for (let number = 0; number < DOCUMENTS; number++) {
      const body = Buffer.from(benchDocument(number))
      const file = { fileName: `${number}.md`, contentType: 'text/markdown', bytes: body.length }
      const { data: made } = (await service.api('POST', `${this.#path}/documents/upload-url`, file)) as Reply
      const { url, headers } = made.upload as { url: string; headers: Record<string, string> }
      const answer = await fetch(url, { method: 'PUT', body, headers })
      if (answer.status !== 204) throw new Error(`the upload of ${number} was answered with ${answer.status}`)
    }
  }

  async run(service: Parameters<OtherWork['run']>[0]): Promise<void> {
    const startedAt = systemClock.now()
    const { data } = (await service.api('POST', `${this.#path}/build`)) as Reply
    const { id } = data.build as { id: string }
    for (;;) {
      const { data: build } = (await service.api('GET', `${this.#path}/builds/${id}`)) as Reply
      if (build.status !== 'processing') {
        if (build.status !== 'completed') throw new Error(`the build failed: ${String(build.error)}`)
        this.seconds = (systemClock.now() - startedAt) / 1000
        this.chunks = Number(build.chunkCount)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }
}

export const KNOWLEDGE_BUILD_IDS: readonly string[] = ['K_build', 'K_build@late', 'K_build@alone']

/**
 * Measures a build of 100 documents with 20 MiB of text in total in the service that holds 20 agent calls: its time (s),
 * and the late frames of the calls without the windows in which the host was late. The late frames of the same calls
 * without a build stand beside them.
 */
export async function measureKnowledgeBuild(probe: Probe): Promise<Measured[]> {
  const figures: Measured[] = []
  for (const build of [new Build(), null]) {
    const { result, frameClock, cores, errors } = await load(CALLS, HOLD_MS, probe, build ?? undefined)
    const { frames, over5, over20, skipped } = frameClock
    const { established, lost } = result
    const context = { calls: established, over5, skipped, lost, cores, errors: errors.length }
    const late = { value: over20, n: frames }
    if (build === null) {
      figures.push(part('K_build@alone', late, context))
      continue
    }
    const took = { value: rounded(build.seconds), n: build.chunks > 0 ? 1 : 0 }
    figures.push(
      figure('K_build', took, { documents: DOCUMENTS, passages: build.chunks, calls: established }),
    )
    figures.push(figure('K_build@late', late, context))
  }
  return figures
}
