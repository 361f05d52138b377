/** The package's name: of its workers, of its policy for Trusted Types, and in what it prints. */
export const NAME = "@candor/opaque";
