import type { ResponseHeaders } from '../../api/reply.js'
import { DEVICE_LIFE_MS } from './known-device.js'
import { SESSION_LIFE_MS } from './sessions.js'

export const SESSION_COOKIE = 'svc_session'
export const CSRF_COOKIE = 'svc_csrf'
/** Proof that this browser signed up an account with a password. */
export const SIGN_UP_COOKIE = 'svc_signup'
/** Proof that an account signed in with this browser before. */
export const DEVICE_COOKIE = 'svc_device'

/** Returns the first cookie of that name in a `Cookie` header, or null. */
export function readCookie(header: string | undefined, name: string): string | null {
  for (const pair of (header ?? '').split(';')) {
    const mark = pair.indexOf('=')
    if (mark > 0 && pair.slice(0, mark).trim() === name) return pair.slice(mark + 1).trim()
  }
  return null
}

/** Returns the cookies of a new session. Scripts can read `svc_csrf` and send it back in `x-svc-csrf`. */
export function signInCookies(
  publicUrl: string,
  token: string,
  csrf: string,
  device: string,
): ResponseHeaders {
  const seconds = SESSION_LIFE_MS / 1000
  return {
    'set-cookie': [
      cookie(publicUrl, SESSION_COOKIE, token, seconds, true),
      cookie(publicUrl, CSRF_COOKIE, csrf, seconds, false),
      cookie(publicUrl, DEVICE_COOKIE, device, DEVICE_LIFE_MS / 1000, true),
    ],
  }
}

/** Returns a cookie that scripts cannot read. `lifeMs` 0 deletes it. */
export function hiddenCookie(
  publicUrl: string,
  name: string,
  value: string,
  lifeMs: number,
): ResponseHeaders {
  return { 'set-cookie': [cookie(publicUrl, name, value, lifeMs / 1000, true)] }
}

/** Returns headers that delete both cookies. */
export function signOutCookies(publicUrl: string): ResponseHeaders {
  return {
    'set-cookie': [
      cookie(publicUrl, SESSION_COOKIE, '', 0, true),
      cookie(publicUrl, CSRF_COOKIE, '', 0, false),
    ],
  }
}

function cookie(publicUrl: string, name: string, value: string, seconds: number, httpOnly: boolean): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : ''
  return `${name}=${value}; Path=/; Max-Age=${seconds}${httpOnly ? '; HttpOnly' : ''}${secure}; SameSite=Lax`
}
