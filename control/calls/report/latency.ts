import type { TurnTrace } from '../../../media/agent/conversation-events.js'
import type { BotStats } from '../../../media/byo/bot-event.js'

export interface CallLatency {
  /** From connected media to the agent's first sound. */
  readonly firstAudioMs: number | null
  /** From the end of the caller's speech to the first packet of the reply. */
  readonly turnP50Ms: number | null
  readonly turnP95Ms: number | null
}

/** Returns the delays that the caller experienced. Returns null when the agent never spoke. */
export function callLatency(traces: readonly TurnTrace[], firstAgentMs: number | null): CallLatency | null {
  return latencyOf(
    traces.flatMap((trace) =>
      trace.firstPacketMs === null ? [] : [trace.firstPacketMs - trace.speechEndMs],
    ),
    firstAgentMs,
  )
}

/** Returns the delays of a customer's bot. Returns null when the bot never sent audio. */
export function botLatency({ replyMs, firstAudioMs }: BotStats): CallLatency | null {
  return latencyOf(replyMs, firstAudioMs)
}

function latencyOf(unsorted: readonly number[], firstAgentMs: number | null): CallLatency | null {
  const waits = [...unsorted].sort((a, b) => a - b)
  if (waits.length === 0 && firstAgentMs === null) return null
  return {
    firstAudioMs: firstAgentMs === null ? null : Math.round(firstAgentMs),
    turnP50Ms: percentile(waits, 0.5),
    turnP95Ms: percentile(waits, 0.95),
  }
}

/** Returns the nearest-rank percentile of a sorted list, or null when the list is empty. */
function percentile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return value === undefined ? null : Math.round(value)
}
