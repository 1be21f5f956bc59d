/*
 * A build of 100 documents with 20 MiB of text in total in the service that holds 20 agent calls: its time, and the late
 * frames of the calls without the windows in which the host was late (docs/figures.md). The same calls without a build
 * stand beside it. `npm run build`, then `node dist/bench/knowledge/build-beside-calls.js`.
 */
import { systemClock } from '../../media/base/clock.js'
import { load, type OtherWork } from '../agent/agent-load.js'
import { openProbe } from '../lib/host-probe.js'
import { benchDocument, DOCUMENTS } from './bench-documents.js'

const CALLS = 20
const HOLD_MS = 60_000
const POLL_MS = 500
const ATTEMPTS = 3

interface Reply {
  readonly data: Readonly<Record<string, unknown>>
}

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

const probe = openProbe()
try {
  for (const label of ['without a build', 'beside the build']) {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const build = label === 'beside the build' ? new Build() : null
      const { result, frameClock, judged, cores, errors } = await load(
        CALLS,
        HOLD_MS,
        probe,
        build ?? undefined,
      )
      const { frames, over5, over20, skipped } = frameClock
      const took = build === null ? '' : `built ${build.chunks} passages in ${build.seconds.toFixed(1)} s; `
      process.stdout.write(
        `${label}: ${took}${result.established} calls, ${frames} frames, ${over5} over 5 ms late, ${over20} over 20 ms, ` +
          `${skipped} skipped, ${result.lost} packets lost, ${errors.length} errors; engine ${cores.engine.toFixed(2)} cores, ` +
          `media ${cores.media.toFixed(2)}; ${judged.leftOutPercent} % of the time left out, probe p99.9 ${judged.nullProbeMs} ms` +
          `${judged.isVoid ? ' (void)' : ''}\n`,
      )
      if (!judged.isVoid) break
    }
  }
} finally {
  probe.close()
}
