/** This machine, as an address names it. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** An address that was not configured follows from the port, on this machine. */
export function isLoopbackUrl(url: string): boolean {
  return url === '' || (URL.canParse(url) && isLoopbackHost(new URL(url).hostname))
}
