import type { Request, Response } from 'express'

/** One request being answered. */
export interface Exchange {
  readonly request: Request
  readonly response: Response
  readonly requestId: string
  readonly docsUrl: string
}
