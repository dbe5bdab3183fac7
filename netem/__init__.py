"""The shaped path: profile to tc arguments, boxes, probing and proof, uplinks."""
