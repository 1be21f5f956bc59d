import type { SessionRate } from '../base/frame.js'
import type { DetectorEvent } from './events.js'
import type { FrameView } from './frame-view.js'

export type ReportEvent = (event: DetectorEvent) => void

/** Detects one kind of sound of one party. Allocates only when it reports an event. */
export interface Detector {
  /** Processes consecutive 20 ms frames. Borrowed. */
  process(view: FrameView): void
}

export interface DetectorOptions {
  readonly rate: SessionRate
  readonly report: ReportEvent
}

export type OpenDetector = (options: DetectorOptions) => Detector
