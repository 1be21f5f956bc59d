/** Programs that verify the signature of a delivery (docs/webhooks.md), by language. */
export const SNIPPETS = {
  'Node.js': `import { createHmac, timingSafeEqual } from 'node:crypto'

/** body: the raw bytes or text of the request, before any JSON parser. */
export function verifyWebhook(headers, body, secret, now = Date.now() / 1000) {
  const timestamp = headers['x-svc-timestamp']
  // Not a comparison with >, which accepts a timestamp that is no number.
  if (!(Math.abs(now - Number(timestamp)) <= 300)) return false
  const expected = createHmac('sha256', secret).update(\`\${timestamp}.\`).update(body).digest('hex')
  const wanted = Buffer.from(\`v1=\${expected}\`)
  return String(headers['x-svc-signature'])
    .split(' ')
    .some((value) => {
      const given = Buffer.from(value)
      return given.length === wanted.length && timingSafeEqual(given, wanted)
    })
}
`,
  Python: `import hashlib
import hmac
import time


def verify_webhook(headers, body: bytes, secret: str, now=None) -> bool:
    """body: the raw bytes of the request, before any JSON parser."""
    timestamp = headers.get("x-svc-timestamp", "")
    if not timestamp.isdigit():
        return False
    if abs((time.time() if now is None else now) - int(timestamp)) > 300:
        return False
    signed = timestamp.encode() + b"." + body
    wanted = b"v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest().encode()
    given = headers.get("x-svc-signature", "").split(" ")
    return any(hmac.compare_digest(value.encode(), wanted) for value in given)
`,
  PHP: `<?php

/** $body: file_get_contents('php://input'), before any JSON parser. */
function verify_webhook(string $body, string $secret, ?int $now = null): bool
{
    $timestamp = $_SERVER['HTTP_X_SVC_TIMESTAMP'] ?? '';
    if (!ctype_digit($timestamp) || abs(($now ?? time()) - (int) $timestamp) > 300) {
        return false;
    }
    $wanted = 'v1=' . hash_hmac('sha256', $timestamp . '.' . $body, $secret);
    foreach (explode(' ', $_SERVER['HTTP_X_SVC_SIGNATURE'] ?? '') as $given) {
        if (hash_equals($wanted, $given)) {
            return true;
        }
    }
    return false;
}
`,
  Go: `package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Verify reports whether the service signed the raw body of a request.
func Verify(header http.Header, body []byte, secret string, now time.Time) bool {
	timestamp := header.Get("X-Svc-Timestamp")
	sent, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Unix()-sent > 300 || sent-now.Unix() > 300 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	wanted := "v1=" + hex.EncodeToString(mac.Sum(nil))
	for _, given := range strings.Split(header.Get("X-Svc-Signature"), " ") {
		if hmac.Equal([]byte(given), []byte(wanted)) {
			return true
		}
	}
	return false
}
`,
} as const
