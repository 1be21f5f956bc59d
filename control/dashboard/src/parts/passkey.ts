import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import { ParleyError } from '../../../../clients/typescript/errors.js'
import type { ConfirmFactorBody, VerifyLoginBody } from '../../../../clients/typescript/generated/types.js'

/** The browser made or used no passkey: the user closed its window, or the device has none. */
export class PasskeyError extends Error {}

/** A request of the service for a proof of a second factor. */
export interface Challenge {
  readonly challengeId: string
  readonly factors: readonly string[]
  /** Options for the browser. Null if no passkey can be used here. */
  readonly passkey: object | null
}

/** Returns the challenge of a refusal with the code `mfa_required`, or null for any other error. */
export function challengeOf(error: Error | null): Challenge | null {
  if (!(error instanceof ParleyError) || error.code !== 'mfa_required') return null
  const { challengeId, factors, passkey } = error.details as Partial<Record<string, unknown>>
  if (typeof challengeId !== 'string' || !Array.isArray(factors)) return null
  return {
    challengeId,
    factors: factors.map(String),
    passkey: typeof passkey === 'object' ? passkey : null,
  }
}

/** Lets the browser make a passkey. Rejects with PasskeyError. */
export async function makePasskey(options: object): Promise<ConfirmFactorBody['attestation']> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON
  return asked(() => startRegistration({ optionsJSON })) as Promise<ConfirmFactorBody['attestation']>
}

/** Lets the browser use a passkey. Rejects with PasskeyError. */
export async function askPasskey(options: object): Promise<VerifyLoginBody['assertion']> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON
  return asked(() => startAuthentication({ optionsJSON })) as Promise<VerifyLoginBody['assertion']>
}

async function asked(ask: () => Promise<unknown>): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    throw new PasskeyError('The browser gave no passkey.', { cause: error })
  }
}
